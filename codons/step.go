package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// happening is one event with what belongs to it.
type happening struct {
	on      machine.Symbol
	message *performatives.Message
	data    any
}

// command is an event that comes from the agent, from a job or from a caller.
type command struct {
	name  string
	data  any
	band  performatives.Priority
	loose bool     // a handler's last word, and something below it perhaps runs on
	by    *handler // who said it and goes on; nil for a last word, and what no handler said
}

// Priority is that of the conversation.
func (c *command) Priority() performatives.Priority { return c.band }

// Control exempts commands from the bounds of the conversation's mailbox: a job's
// last word must never be lost. What a job may say often goes by say, which waits.
func (*command) Control() {}

// happen takes an event, and then those that the script caused by it.
func (c *conversation) happen(h happening) {
	if c.busy {
		c.pending = append(c.pending, h)
		return
	}
	c.busy = true
	defer func() { c.busy = false }()
	c.step(h)
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		c.step(next)
	}
}

func (c *conversation) step(h happening) {
	from := c.state.State
	next, effects, err := c.machine.Step(c.state, machine.Event{On: h.on, At: time.Now(), ID: idOf(h.message)})
	defer func() { c.stepped(h.on, c.state.State) }()
	if err != nil {
		c.unexpected(h)
		return
	}
	c.state = next
	if h.message != nil {
		c.noteReceived(h.message, effects)
	}
	c.publish(from, h)
	for _, e := range effects {
		c.carryOut(e, h)
	}
	if !c.over.Load() && c.machine.Terminal(c.state.State) {
		c.finish(h.message)
	}
}

// noteReceived remembers a message, and has it lead to the conversation what refers
// to a later request than the first.
func (c *conversation) noteReceived(m *performatives.Message, effects []machine.Effect) {
	c.note(m, effects)
	if c.state.Role == machine.Initiator && !m.Budget().IsZero() {
		c.account, c.asked = m, false
	}
	if c.request == m {
		c.alias(m)
	}
}

// alias lets a peer whose dialect has no conversation ids name the conversation by
// a message of it.
func (c *conversation) alias(m *performatives.Message) {
	if string(m.ID()) != string(c.key.ID) {
		_ = c.self.Alias(c.key, string(m.ID())) // a stopped agent gets no messages anyway
	}
}

func idOf(m *performatives.Message) performatives.MessageID {
	if m == nil {
		return ""
	}
	return m.ID()
}

// unexpected is an event that the table has no row for: no message is lost even
// so. A command has no one to tell.
func (c *conversation) unexpected(h happening) {
	if h.message != nil {
		c.self.System().Refuse(c.self.ID(), h.message, performatives.CodeUnexpectedAct, "")
		return
	}
	c.self.Logger().Error("event without a row", "conversation", string(c.key.ID), "state", string(c.state.State), "event", h.on.String())
}

func (c *conversation) publish(from machine.State, h happening) {
	events := &c.self.System().Events
	if !actors.Wants[Transition](events) {
		return
	}
	events.Publish(Transition{
		At: actors.At{Time: c.state.Updated}, Agent: c.self.ID(), Peer: c.peer, Conversation: c.key.ID,
		Parent: c.parent, Protocol: c.machine.Name(), Role: c.state.Role, From: from, To: c.state.State, On: h.on,
		Message: idOf(h.message), Ended: c.machine.Terminal(c.state.State),
	})
}

// carryOut does one effect of a step.
func (c *conversation) carryOut(e machine.Effect, h happening) {
	switch e.Kind {
	case machine.EffectSend:
		c.say(e, h.data)
	case machine.EffectResend:
		c.sendAgain(e.Act)
	case machine.EffectArm:
		if d := c.script.timer(c, e.Name); d != never {
			c.timers.arm(e.Name, d)
		} else {
			c.timers.disarm(e.Name) // it may run from before
		}
	case machine.EffectDisarm:
		c.timers.disarm(e.Name)
	case machine.EffectRun:
		c.script.run(c, e.Name)
	case machine.EffectStop:
		c.script.stop(c, e.Name)
	case machine.EffectReport:
		c.script.report(c, e.Name, h.message)
	case machine.EffectRefuse:
		c.refuse(h.message, performatives.Code(e.Name))
	case machine.EffectDrop:
		c.drop(h.message, e.Name)
	}
}

// ring has the conversation look at its timers. It is called on a goroutine of its own.
func (c *conversation) ring() { c.post(tick{}) }
