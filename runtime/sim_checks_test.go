package runtime_test

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
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
	state   machine.State
	ended   bool
	opening p.MessageID // of a responder
	answer  *simRefusal // the refusal of the runtime that ended it; nil where another event did

	began, endedAt int        // numbers of events
	met            simSymbols // the events of its steps
}

// simSymbols is a set of few symbols.
type simSymbols []machine.Symbol

func (s *simSymbols) add(on machine.Symbol) {
	if !slices.Contains(*s, on) {
		*s = append(*s, on)
	}
}

func (c *simRecorder) stepLocked(e lifecycle.Transition) {
	side := simSide{e.Conversation, e.Protocol, e.Agent.Fold(), e.Peer.Fold(), e.Role}
	conversations := c.conversations[side]
	if conversations == nil {
		c.order = append(c.order, side)
	}
	if e.From == machine.Idle {
		conversations = append(conversations, &simConversation{opening: e.Message, began: c.seen})
		c.conversations[side] = conversations
	}
	if len(conversations) == 0 {
		c.broken = append(c.broken, fmt.Sprintf("%s of %s: a step from %s before any other", e.Conversation, e.Agent, e.From))
		return
	}
	last := conversations[len(conversations)-1]
	if e.Ended && !last.ended {
		last.endedAt = c.seen
		if r, ok := c.refusals[simDirection{side.conversation, side.agent, side.peer}]; ok && e.Message != "" && !c.said[e.Message] {
			last.answer = &r
		}
	}
	last.state, last.ended = e.To, e.Ended
	last.met.add(e.On)
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

// unexplained returns the protocol violations that no simException accepts.
func (c *simRecorder) unexplained() []string {
	var problems []string
	for _, v := range c.violations {
		if x := c.violationException(v); x != nil {
			c.accepted.count(x.name)
			continue
		}
		problems = append(problems, fmt.Sprintf("%v: %v", v.Message, v.ViolationError))
	}
	return problems
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
	runs := others
	if len(runs) == 0 {
		runs = []*simConversation{{state: machine.Idle}}
	}
	ends := make([]machine.State, len(runs))
	for i, run := range runs {
		ends[i] = run.state
	}
	agree := simTables[side.protocol].Agree
	how := fmt.Sprintf("%s: %s, and %v", side.protocol, conversation.state, ends)
	for _, run := range runs {
		met := [2]simSymbols{machine.Initiator: conversation.met, machine.Responder: run.met}
		i := slices.IndexFunc(agree, func(p machine.Pair) bool {
			return p.Initiator == conversation.state && p.Responder == run.state &&
				p.Allowed(func(r machine.Role, on machine.Symbol) bool { return slices.Contains(met[r], on) })
		})
		if i >= 0 {
			c.pairs.count(fmt.Sprintf("%s (%s)", how, agree[i].Note))
			return ""
		}
	}
	if x := c.pairException(side, conversation, others); x != nil {
		c.accepted.count(x.name)
		c.pairs.count(how + " (" + x.name + ")")
		return ""
	}
	return fmt.Sprintf("%+v: ends in %s, the other side in %v: not listed", side, conversation.state, ends)
}
