package runtime_test

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/account"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// simTables are the tables of the swarm's codons.
var simTables = func() map[string]machine.Table {
	all := make(map[string]machine.Table)
	for _, c := range library.Codons() {
		all[c.Table.Name] = c.Table
	}
	return all
}()

// simSide identifies one side of a conversation.
type simSide struct {
	conversation p.ConversationID
	protocol     string
	agent, peer  p.AgentID
	role         machine.Role
}

func (s simSide) other() simSide {
	o := s
	o.agent, o.peer, o.role = s.peer, s.agent, machine.Responder
	return o
}

// simConversation is the history of one side of a conversation. A side has several only
// when its agent was stopped and spawned again without the history.
type simConversation struct {
	state       machine.State
	ended       bool
	stops       int  // number of stops of the peer at the beginning of the conversation
	peerStopped bool // the peer stopped during the conversation
}

func (c *simRecorder) stepLocked(e codons.Transition) {
	side := simSide{e.Conversation, e.Protocol, e.Agent.Fold(), e.Peer.Fold(), e.Role}
	if c.conversations[side] == nil {
		c.order = append(c.order, side)
	}
	if e.From == machine.Idle {
		c.conversations[side] = append(c.conversations[side], &simConversation{stops: c.stops[e.Peer]})
	}
	conversations := c.conversations[side]
	if len(conversations) == 0 {
		c.broken = append(c.broken, fmt.Sprintf("%s of %s: a step from %s before any other", e.Conversation, e.Agent, e.From))
		return
	}
	last := conversations[len(conversations)-1]
	if !last.ended {
		last.peerStopped = c.stops[e.Peer] > last.stops
	}
	last.state, last.ended = e.To, e.Ended
}

// problems returns the errors of the run.
func (c *simRecorder) problems() []string {
	problems := slices.Concat(c.broken, c.accounting(), c.unexplained(), c.rebuildProblems())
	for _, side := range c.order {
		for _, conversation := range c.conversations[side] {
			if !conversation.ended {
				problems = append(problems, fmt.Sprintf("%+v is left in %s", side, conversation.state))
			}
		}
		if side.role != machine.Initiator {
			if c.conversations[side.opened()] == nil {
				problems = append(problems, fmt.Sprintf("%+v: nobody opened it", side))
			}
			continue
		}
		for _, conversation := range c.conversations[side] {
			if problem := c.agreement(side, conversation); problem != "" {
				problems = append(problems, problem)
			}
		}
	}
	return problems
}

func (s simSide) opened() simSide {
	o := s.other()
	o.role = machine.Initiator
	return o
}

// unexplained returns the protocol violations that have no explanation. A stop explains
// one, and so does a refusal by the runtime, because the agent does not know about it.
func (c *simRecorder) unexplained() []string {
	var problems []string
	for _, v := range c.violations {
		if !c.refusedByRuntime[v.Conversation] && !c.interrupted(v) {
			problems = append(problems, fmt.Sprintf("%v: %v", v.Message, v.ViolationError))
		}
	}
	return problems
}

// interrupted reports whether one of the two agents has stopped since the conversation
// began.
func (c *simRecorder) interrupted(v codons.Violation) bool {
	for _, side := range c.order {
		if side.conversation == v.Conversation && (side.agent.Is(v.Sender) || side.peer.Is(v.Sender)) {
			for _, conversation := range c.conversations[side] {
				if c.stops[side.peer] > conversation.stops {
					return true
				}
			}
		}
	}
	return false
}

// accounting compares the messages that reached the node with their outcomes.
func (c *simRecorder) accounting() []string {
	problems := c.outcomes.Wrong(func(_ p.MessageID, o account.Counts) bool { return o[account.Accepted] == 0 || o.Settled() })
	if c.counts.Refused != c.refused || c.counts.DeadLetters != c.dead {
		problems = append(problems, fmt.Sprintf("%+v: %d refusals and %d dead letters were published", c.counts, c.refused, c.dead))
	}
	return problems
}

// agreement compares the final states of both sides with the pairs that the table lists.
func (c *simRecorder) agreement(side simSide, conversation *simConversation) string {
	others := c.conversations[side.other()]
	ends := []machine.State{machine.Idle}
	if len(others) > 0 {
		ends = ends[:0]
		for _, o := range others {
			ends = append(ends, o.state)
		}
	}
	agree := simTables[side.protocol].Agree
	how := fmt.Sprintf("%s: %s, and %v", side.protocol, conversation.state, ends)
	for _, end := range ends {
		i := slices.IndexFunc(agree, func(p machine.Pair) bool { return p.Initiator == conversation.state && p.Responder == end })
		if i >= 0 {
			c.pairs.count(fmt.Sprintf("%s (%s)", how, agree[i].Note))
			return ""
		}
	}
	switch {
	case c.refusedByRuntime[side.conversation] && (len(others) == 0 || !c.failed[side.conversation]):
		c.pairs.count(how + " (the agent was not there, had no room, or failed, and the runtime refused for it)")
		return ""
	case conversation.peerStopped:
		c.pairs.count(how + " (the agent stopped, and came back without a memory)")
		return ""
	}
	return fmt.Sprintf("%+v: ends in %s, the other side in %v: not listed", side, conversation.state, ends)
}
