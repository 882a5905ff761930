package runtime_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// simTables are the codons of the swarm.
var simTables = func() map[string]machine.Table {
	all := make(map[string]machine.Table)
	for _, c := range codons.Library() {
		all[c.Table.Name] = c.Table
	}
	return all
}()

// simSide is one side of a conversation.
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

// simTalk is what one side went through. There are several only where its agent
// stopped, and came back without a memory of the first.
type simTalk struct {
	state machine.State
	ended bool
	stops int  // of the peer, until then
	alone bool // the peer has stopped meanwhile
}

func (c *chronicle) stepLocked(e codons.Transition) {
	side := simSide{e.Conversation, e.Protocol, e.Agent.Fold(), e.Peer.Fold(), e.Role}
	if c.talks[side] == nil {
		c.order = append(c.order, side)
	}
	if e.From == machine.Idle {
		c.talks[side] = append(c.talks[side], &simTalk{stops: c.stops[e.Peer]})
	}
	talks := c.talks[side]
	if len(talks) == 0 {
		c.broken = append(c.broken, fmt.Sprintf("%s of %s: a step from %s before any other", e.Conversation, e.Agent, e.From))
		return
	}
	last := talks[len(talks)-1]
	if !last.ended {
		last.alone = c.stops[e.Peer] > last.stops
	}
	last.state, last.ended = e.To, e.Ended
}

// problems lists what is wrong with the run.
func (c *chronicle) problems() []string {
	problems := slices.Concat(c.broken, c.accounting(), c.unexplained())
	for _, side := range c.order {
		for _, talk := range c.talks[side] {
			if !talk.ended {
				problems = append(problems, fmt.Sprintf("%+v is left in %s", side, talk.state))
			}
		}
		if side.role != machine.Initiator {
			if c.talks[side.opened()] == nil {
				problems = append(problems, fmt.Sprintf("%+v: nobody opened it", side))
			}
			continue
		}
		for _, talk := range c.talks[side] {
			if problem := c.agreement(side, talk); problem != "" {
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

// unexplained lists the messages that break a table without a reason: a stop, or a
// refusal by the runtime, which the agent knows nothing of.
func (c *chronicle) unexplained() []string {
	var problems []string
	for _, v := range c.violations {
		if !c.turned[v.Conversation] && !c.interrupted(v) {
			problems = append(problems, fmt.Sprintf("%v: %v", v.Message, v.ViolationError))
		}
	}
	return problems
}

// interrupted reports whether one of the two has stopped since they began.
func (c *chronicle) interrupted(v codons.Violation) bool {
	for _, side := range c.order {
		if side.conversation == v.Conversation && (side.agent.Is(v.Sender) || side.peer.Is(v.Sender)) {
			for _, talk := range c.talks[side] {
				if c.stops[side.peer] > talk.stops {
					return true
				}
			}
		}
	}
	return false
}

// accounting compares what reached a node with what became of it.
func (c *chronicle) accounting() []string {
	var problems []string
	for _, id := range slices.Sorted(maps.Keys(c.fates)) {
		f := c.fates[id]
		if f.attempted > 0 && f.attempted != f.handled+f.refused+f.dead {
			problems = append(problems, fmt.Sprintf("%s: %+v", id, *f))
		}
	}
	if c.counts.Refused != c.refused || c.counts.DeadLetters != c.dead {
		problems = append(problems, fmt.Sprintf("%+v: %d refusals and %d dead letters were published", c.counts, c.refused, c.dead))
	}
	return problems
}

// agreement checks the ends of both sides against what the table lists.
func (c *chronicle) agreement(side simSide, talk *simTalk) string {
	others := c.talks[side.other()]
	ends := []machine.State{machine.Idle}
	if len(others) > 0 {
		ends = ends[:0]
		for _, o := range others {
			ends = append(ends, o.state)
		}
	}
	agree := simTables[side.protocol].Agree
	how := fmt.Sprintf("%s: %s, and %v", side.protocol, talk.state, ends)
	for _, end := range ends {
		i := slices.IndexFunc(agree, func(p machine.Pair) bool { return p.Initiator == talk.state && p.Responder == end })
		if i >= 0 {
			c.pairs.count(fmt.Sprintf("%s (%s)", how, agree[i].Note))
			return ""
		}
	}
	switch {
	case c.turned[side.conversation] && (len(others) == 0 || !c.failed[side.conversation]):
		c.pairs.count(how + " (the agent was not there, had no room, or failed, and the runtime refused for it)")
		return ""
	case talk.alone:
		c.pairs.count(how + " (the agent stopped, and came back without a memory)")
		return ""
	}
	return fmt.Sprintf("%+v: ends in %s, the other side in %v: not listed", side, talk.state, ends)
}
