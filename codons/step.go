package codons

import (
	"cmp"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Command is an event of the table that the agent, the caller or a job causes on one side of
// a conversation.
type Command struct {
	Name string // Name is the name of the command in the table.
	Data any    // Data is the content of the message that the command makes the table send; nil for none.
}

// command is a [Command] in the conversation's mailbox, or a function to call.
type command struct {
	Command
	call      func() // called in place of the command; nil for none
	band      performatives.Priority
	final     bool     // the last command of a handler
	unstopped bool     // the last command of a handler below which a conversation perhaps still runs
	by        *Handler // the handler that gave the command and goes on; nil for a last command and for other senders
}

// Priority returns the priority of the conversation.
func (c *command) Priority() performatives.Priority { return c.band }

// Control exempts commands from the bounds of the conversation's mailbox: a job's
// last command must never be lost. [Handler.Say] bounds the others.
func (*command) Control() {}

// Happen takes a command: at once, or after the current step and the events that it has
// already caused.
func (c *Conversation) Happen(m Command) {
	c.take(c.commanded(m, false))
}

// take takes an event, and then the events that its step has caused.
func (c *Conversation) take(e Input) {
	if c.busy {
		c.pending = append(c.pending, e)
		return
	}
	c.busy = true
	defer func() { c.busy = false }()
	c.event = e
	c.step(&c.event)
	for len(c.pending) > 0 {
		c.event = c.pending[0]
		c.pending = c.pending[1:]
		c.step(&c.event)
	}
}

func (c *Conversation) step(e *Input) {
	from := c.at.State
	e.At, e.Ontology = time.Now(), c.ontology
	e.Used = c.used()
	var room [4]action
	actions, err := c.reduce(e, c, room[:0])
	if c.watch != nil {
		defer func() { c.watch(e.On, c.at.State) }()
	}
	if err != nil {
		c.unexpected(e)
		return
	}
	c.show()
	if c.recorder != nil {
		c.recorder.add(e, actions)
	}
	if m := e.Message; m != nil && m == c.request {
		c.alias(m)
	}
	c.publish(from, e)
	for i := range actions {
		c.act(&actions[i], e)
	}
	if !c.over.Load() && c.Ended() {
		last := e.Message
		if e.misread() { // it tells nothing
			last = nil
		}
		c.finish(last)
	}
}

// stamp returns the identity of the next message of this side.
func (c *Conversation) stamp() performatives.Stamp {
	s := c.agent.Stamp()
	if c.recorder != nil {
		c.recorder.stamps = append(c.recorder.stamps, s)
	}
	return s
}

// alias makes a message id stand for the conversation, for a peer whose dialect has no
// conversation ids.
func (c *Conversation) alias(m *performatives.Message) {
	if string(m.ID()) != string(c.key.ID) {
		_ = c.agent.Alias(c.key, string(m.ID())) // a stopped agent gets no messages anyway
	}
}

// unexpected handles an event for which the table has no row. A message is refused, so that it
// is not lost. A command is logged.
func (c *Conversation) unexpected(e *Input) {
	if e.Message != nil && e.On.Kind != machine.KindCommand {
		c.agent.System().Refuse(c.agent.ID(), e.Message, performatives.CodeUnexpectedAct, "")
		return
	}
	c.agent.Logger().Error("event without a row in the table", "conversation", string(c.key.ID), "codon", c.Protocol(), "role", c.at.Role.String(), "state", string(c.at.State), "event", e.On.String())
}

// publish publishes a step, and the beginning of the conversation with its first one.
func (c *Conversation) publish(from machine.State, e *Input) {
	stream := &c.agent.System().Events
	if from == machine.Idle && events.Wants[lifecycle.Began](stream) {
		events.Publish(stream, lifecycle.Began{At: events.At{Time: c.at.Updated}, Subject: c.subject()})
	}
	if !events.Wants[lifecycle.Transition](stream) {
		return
	}
	t := lifecycle.Transition{At: events.At{Time: c.at.Updated}, Subject: c.subject(), From: from, To: c.at.State, On: e.On, Ended: c.Ended()}
	if e.On.Kind != machine.KindCommand || e.misread() {
		t.Message = idOf(e.Message)
	}
	events.Publish(stream, t)
}

// act carries out one effect of a step.
func (c *Conversation) act(a *action, e *Input) {
	switch f := a.effect; f.Kind {
	case machine.EffectSend:
		c.send(a)
	case machine.EffectResend:
		if a.message != nil {
			c.publishResent(a.message)
			c.route(a.message)
		}
	case machine.EffectArm:
		if f.Name == machine.TimerDeadline && c.work != nil {
			c.work.extend(c.deadline)
		}
		if a.after == Never {
			c.timers.disarm(f.Name) // the timer may still run
		} else {
			c.timers.arm(f.Name, c.event.At, a.after)
		}
	case machine.EffectDisarm:
		c.timers.disarm(f.Name)
	case machine.EffectRun:
		c.side.Run(c, f.Name)
	case machine.EffectStop:
		c.side.Stop(c, f.Name)
	case machine.EffectReport:
		c.side.Report(c, f.Name, e.Message)
	case machine.EffectRefuse:
		if a.message != nil {
			_ = c.actor.Send(a.message) // Send has dead-lettered it
		}
	case machine.EffectDrop:
		if !e.local {
			c.Drop(e.Message, f.Name)
		}
	}
}

// ring has the conversation check its timers. It is called on a goroutine of its own.
func (c *Conversation) ring() { c.actor.Tell(tick{}) }

// send sends the message of an action.
func (c *Conversation) send(a *action) {
	m := a.message
	if a.err != nil {
		c.agent.Logger().Error("message not made", "conversation", string(c.key.ID), "performative", a.effect.Act.String(), "err", a.err)
		return
	}
	if s, ok := c.side.(sendSide); ok {
		s.Send(c, m)
	}
	if c.fingerprints != nil {
		c.fingerprint(m)
	}
	// A tagged message may be followed by a further message of the peer.
	if c.at.Role == machine.Initiator && (a.effect.Act.ExpectsReply() || c.opens(m)) || a.effect.Name != "" {
		c.alias(m)
	}
	c.route(m)
}

// used returns the usage of the work so far, which is empty before there is any. It is nil where
// the peer has given this side no budget; it may have while only the CANCEL of a request has come.
// The caller must not change it.
func (c *Conversation) used() Budget {
	switch {
	case c.at.Role == machine.Initiator:
		return nil
	case c.work != nil && c.work.limited:
		return c.work.account.used()
	case c.work == nil && (c.request == nil || !c.request.Budget().IsZero()):
		return unused
	}
	return nil
}

// route sends a message. It takes the refusal of an undeliverable one that expects an answer as an
// event, like a refusal that a runtime has sent.
func (c *Conversation) route(m *performatives.Message) {
	err := c.actor.Send(m)
	if err == nil || c.Ended() { // the system has counted the message, and an ended side awaits no answer
		return
	}
	r := performatives.RefusalOf(err)
	r = cmp.Or(r, &performatives.Refusal{Code: performatives.CodeInternal})
	expects := m.Performative().ExpectsReply()
	if s, ok := c.side.(undeliveredSide); ok && !expects {
		s.Undelivered(c, m, r)
	}
	s := c.sentOf(m.Performative())
	if s == nil || !expects && (!c.opens(m) || r.Code == performatives.CodeBusy) { // a retry follows for a busy peer
		return
	}
	answer := m.RefuseCopy(m.Receiver(), c.agent.Stamp(), r)
	if d, ok := c.side.(denialSide); answer == nil && ok {
		answer = d.Denial(m, c.agent.Stamp(), r)
	}
	if answer != nil {
		c.take(Input{On: s.refusedBy(r.Code), Message: answer, local: true})
	}
}

// opens reports whether the act of m opens a conversation of the codon. It may be an act that
// expects no reply in other codons.
func (c *Conversation) opens(m *performatives.Message) bool {
	return c.machine.Opens(m.Performative())
}

// denialSide is a [Side] whose opening act expects no reply by its own meaning.
type denialSide interface {
	Denial(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal) *performatives.Message
}

// Drop dead-letters a message that is not handled, under a reason such as [machine.DropLate]. A nil
// message does nothing.
func (c *Conversation) Drop(m *performatives.Message, reason string) {
	if m != nil {
		c.agent.System().DeadLetter(string(c.agent.ID()), m, performatives.Code(reason))
	}
}
