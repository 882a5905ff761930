package codons

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Never is the duration of a timer that does not run.
const Never time.Duration = math.MaxInt64

// Conversation is the actor of one side of a conversation. It turns messages, commands and
// timers into events, reduces its [Value] by each, and carries out the effects of the table.
// Unless its comment says otherwise, a method may be called only on the conversation's actor,
// from the methods of its [Side].
type Conversation struct {
	Value
	actor    actors.ConversationActor
	agent    actors.Self
	about    atomic.Pointer[lifecycle.Subject]         // see subject; nil before its first use
	ontology string                                    // of a request that names none, at the responder; empty otherwise
	release  func() bool                               // detaches the conversation from its caller's ctx; nil without a caller
	child    child                                     // its lease in the scope in which it was begun
	work     *scope                                    // the scope of its jobs, at the responder; nil before the first job
	spent    Budget                                    // its usage, at the initiator; read once it has ended
	watch    func(on machine.Symbol, at machine.State) // called after each step, and at an end without a step; nil without a group

	progress     progress
	timers       timers
	withdrawn    atomic.Pointer[func() error] // returns the cause for which the caller withdrew it; nil otherwise
	event        Input                        // of the current step, or of the latest one
	pending      []Input                      // events that the current step has caused
	recorder     *recorder                    // nil where events are not recorded
	fingerprints *fingerprints                // nil where payloads are not compared, see [CheckPayloads]
	lost         *actors.PeerLost             // how it has lost its peer; nil if it has not
	over         atomic.Bool                  // it has ended
	priority     performatives.Priority       // the priority of all messages of the conversation
	longLived    bool                         // it has no deadline
	busy         bool                         // a step is in progress
}

// newConversation returns a side of the conversation that a request opens: its initiator where the
// agent has made the request.
func newConversation(agent actors.Self, codon *Codon, role machine.Role, opening *performatives.Message, s Side) *Conversation {
	c := &Conversation{agent: agent, priority: opening.Priority()}
	key := actors.Key{ID: opening.ConversationID(), Peer: opening.Sender()}
	if role == machine.Initiator {
		key.Peer, key.Initiator, c.opening = opening.Receiver(), true, opening
	}
	c.set(codon, role, agent.ID(), key, opening, s, time.Now())
	c.sent, c.seen = c.fewSent[:0], c.fewSeen[:0]
	c.timers.began = c.at.Updated
	c.progress.state, c.progress.since = c.at.State, c.at.Updated
	c.timers.ring = c.ring
	if events.Wants[Recorded](&agent.System().Events) {
		c.recorder = &recorder{record: Record{
			Protocol: codon.Name(), Role: role, Agent: c.self, Peer: key.Peer, ID: key.ID, First: opening,
		}}
	}
	if CheckPayloads.Load() {
		c.fingerprints = new(fingerprints)
	}
	return c
}

// Agent returns the handle of the agent on this side. Safe for concurrent use.
func (c *Conversation) Agent() actors.Self { return c.agent }

// Opening returns the request that the initiator is about to send. It may be called until the
// conversation starts. It is nil at the responder.
func (c *Conversation) Opening() *performatives.Message { return c.opening }

// Key returns the key under which the agent finds the conversation. Safe for concurrent use.
func (c *Conversation) Key() actors.Key { return c.key }

// role returns the role of this side. Safe for concurrent use.
func (c *Conversation) role() machine.Role {
	if c.key.Initiator {
		return machine.Initiator
	}
	return machine.Responder
}

// Priority returns the priority of the conversation's messages. Safe for concurrent use.
func (c *Conversation) Priority() performatives.Priority { return c.priority }

// Over reports whether the conversation has ended. Safe for concurrent use.
func (c *Conversation) Over() bool { return c.over.Load() }

// LongLived reports whether the conversation has no deadline. Safe for concurrent use.
func (c *Conversation) LongLived() bool { return c.longLived }

// Withdrawn reports whether the caller has withdrawn the conversation, by [Handle.Cancel] or by the
// end of its ctx. Safe for concurrent use.
func (c *Conversation) Withdrawn() bool { return c.withdrawn.Load() != nil }

// Actor returns the actor. Safe for concurrent use.
func (c *Conversation) Actor() *actors.ConversationActor { return &c.actor }

// Receive handles one message, command or timer. Only the actor calls it.
func (c *Conversation) Receive(message any) {
	switch m := message.(type) {
	case *performatives.Message:
		c.handle(m)
	case *command:
		c.handleCommand(m)
	case *actors.PeerLost:
		if m.Reached() && !c.over.Load() && c.at.State != machine.Idle {
			c.lost = m
			c.take(Input{On: machine.PeerLost(), Data: m.Code})
		}
	case tick:
		for name, ok := c.timers.expired(time.Now()); ok; name, ok = c.timers.expired(time.Now()) {
			if now := time.Now(); name == machine.TimerRetry && c.again.After(now) {
				c.timers.arm(name, now, c.again.Sub(now))
				continue
			}
			c.take(Input{On: machine.Timeout(name)})
		}
	}
}

// handleCommand takes a command. A receipt says that nothing runs any more. So after CANCEL a
// handler below which a conversation perhaps still runs counts as one that has not returned.
// Only here is the order of the CANCEL and of the handler's last command known.
func (c *Conversation) handleCommand(m *command) {
	if m.by != nil {
		defer m.by.handled() // also when the table drops the command
	}
	switch {
	case c.over.Load() && c.at.State == machine.Idle: // it was withdrawn before its first step
	case m.call != nil:
		m.call()
	case m.unstopped && c.at.State == standard.StateCancelling:
		c.take(Input{On: machine.Timeout(machine.TimerGrace)})
	default:
		last := m.Command
		if len(c.codon.types) > 0 {
			last = c.typed(last)
		}
		c.take(c.commanded(last, m.final))
	}
}

// Start takes the initiator's first step. A conversation that its caller has already
// withdrawn ends without a message. Only the actor calls it.
func (c *Conversation) Start() {
	if c.at.Role != machine.Initiator {
		return
	}
	if cause := c.withdrawn.Load(); cause != nil {
		c.Abandon((*cause)())
		c.agent.End(c, nil)
		return
	}
	c.take(Input{On: machine.Commanded(machine.CommandStart), Message: c.opening})
}

// withdraw cancels the conversation on behalf of its caller. Only the first call has an
// effect. Safe for concurrent use.
func (c *Conversation) withdraw(cause error) {
	c.withdrawFor(func() error { return cause }, canceledBy(cause))
}

// withdrawFor withdraws the conversation. content is that of the CANCEL; nil for the usual one.
func (c *Conversation) withdrawFor(cause func() error, content any) {
	if c.withdrawn.CompareAndSwap(nil, &cause) {
		c.Tell(Command{standard.CommandCancel, content})
	}
}

// Abandon ends a conversation without a step of the table: one that never began, because its
// agent has stopped or its caller has withdrawn it, or one whose actor failed at its end. In
// the second case the peer may go on. Only the first call has an effect. The agent and its
// supervisor call it.
func (c *Conversation) Abandon(cause error) {
	if !c.over.CompareAndSwap(false, true) {
		return
	}
	if c.release != nil {
		c.release()
	}
	begun := c.at.State != machine.Idle
	if begun {
		c.spent = c.child.limits()
		c.publishEnded(time.Now(), standard.StateAbandoned, func() performatives.Code { return performatives.CodeInternal })
	}
	if s := c.child.scope; s != nil {
		s.account.settle(c.child.granted, c.spent)
		defer s.removeChild(!begun, begun)
	}
	c.side.Abandoned(c, cause)
	if c.watch != nil {
		c.watch(machine.Symbol{}, standard.StateAbandoned)
	}
}

// handle turns a received message into an event. A message after the end goes to the tombstone.
func (c *Conversation) handle(m *performatives.Message) {
	switch {
	case c.over.Load():
		c.agent.Return(m)
	case c.shared && c.ofEarlier(m):
		c.returnStale(m)
	case m.Undeliverable() && slices.Contains(c.former, m.InReplyTo()): // a copy of a request before the latest of its act
		c.Drop(m, machine.DropUndeliverable)
	default:
		tag, err := c.tagOf(m)
		if err != nil && c.misread(m, c.classify(m, ""), performatives.RefusalOf(err)) {
			return
		}
		if err != nil {
			c.agent.System().Refuse(c.agent.ID(), m, performatives.CodeInvalidPayload, performatives.RefusalOf(err).Text)
			if c.at.State == machine.Idle { // a refused message opens no conversation
				c.Abandon(err)
				c.agent.End(c, nil)
			}
			return
		}
		on := c.classify(m, tag)
		if c.isUnexpectedAnswer(m, on) && c.misread(m, on, &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Text: performatives.CodeUnexpectedAct.Traits().Text}) {
			return
		}
		further := on.Kind == machine.KindReceive && c.at.Role == machine.Responder && c.at.State != machine.Idle
		if act := m.Performative(); further && act != performatives.ActCancel && c.asks(act) { // a further request
			switch r := performatives.RefusalOf(c.agent.TakeOn(m, c.remaining(time.Now()))); {
			case r == nil:
			case r.Code == performatives.CodeConversationEnded:
				on = machine.Duplicate(m.Performative())
			default:
				c.agent.System().RefuseRequest(c.agent.ID(), m, r)
				return
			}
		}
		c.take(Input{On: on, Message: m})
	}
}

// misread takes a message that this side cannot read as [standard.CommandMisread]. It reports false
// for a message that comes again or late, and for a refusal: no NOT_UNDERSTOOD answers another. It
// does so for a state without the row, too: that of a responder which awaits no further message.
func (c *Conversation) misread(m *performatives.Message, on machine.Symbol, why *performatives.Refusal) bool {
	if on.Kind != machine.KindReceive || m.AsRefusal() != nil || !c.machine.Takes(c.at, onMisread) {
		return false
	}
	c.take(Input{On: onMisread, Message: m, Data: performatives.NotUnderstood{ReasonCode: why.Code, ReasonText: why.Text}})
	return true
}

// isUnexpectedAnswer reports whether m refers to a message of this side, and no row of its state
// names the act.
func (c *Conversation) isUnexpectedAnswer(m *performatives.Message, on machine.Symbol) bool {
	if c.answeredBy(m) < 0 {
		return false
	}
	t := c.machine.Find(c.at.Role, c.at.State, on)
	return t != nil && t.Wildcard
}

// remaining returns the time until the deadline of the conversation, or else the longest for which
// a request is remembered.
func (c *Conversation) remaining(now time.Time) time.Duration {
	if c.deadline.IsZero() {
		return actors.MaxRequestAge
	}
	return c.deadline.Sub(now)
}

// returnStale refuses or drops a message that belongs to an earlier conversation of the same
// id.
func (c *Conversation) returnStale(m *performatives.Message) {
	if m.Performative().ExpectsReply() {
		c.agent.System().Refuse(c.agent.ID(), m, performatives.CodeConversationEnded, "")
	} else {
		c.Drop(m, machine.DropStale)
	}
}

// Tell sends a command to the conversation. It never blocks. A command before the
// conversation has started or after its end is dropped. Safe for concurrent use.
func (c *Conversation) Tell(m Command) { c.actor.Tell(&command{Command: m, band: c.priority}) }

// Do has the conversation's actor call fn, which must not block. Do itself never blocks. A call
// before the conversation has started or after its end is dropped. Safe for concurrent use.
func (c *Conversation) Do(fn func()) { c.actor.Tell(&command{call: fn, band: c.priority}) }

// finish ends the conversation in its terminal state. It tells the agent first, so that the
// conversation id is free when the caller learns of the end.
func (c *Conversation) finish(last *performatives.Message) {
	c.timers.stop()
	if c.recorder != nil {
		c.recorder.end(c)
	}
	if c.fingerprints != nil {
		c.checkFingerprints()
	}
	c.agent.End(c, c.tombstone())
	c.over.Store(true)
	c.publishEnded(c.at.Updated, c.at.State, func() performatives.Code { return c.endCode(last) })
	if c.release != nil {
		c.release()
	}
	if c.at.Role == machine.Initiator {
		if c.event.On == onDeadline {
			c.cancelExpired()
		}
		used := last
		if c.usage != nil {
			used = c.lastUsage(last)
		}
		c.spent = c.child.used(used)
	}
	if s := c.child.scope; s != nil {
		// Before the caller learns of the end, so that it can use the rest at once.
		s.account.settle(c.child.granted, c.spent)
		defer func() { s.removeChild(c.stopped(last)) }() // also when code of the caller panics over the answer
	}
	c.side.Ended(c, last)
}

// cancelExpired sends CANCEL to the worker of another process when the deadline of the initiator
// has passed. The table has no CANCEL there, because a responder keeps the same deadline and stops
// by itself. A program may not keep it, and another node has another clock.
func (c *Conversation) cancelExpired() {
	if !c.first.Performative().ExpectsReply() || c.Sent(performatives.ActCancel) != nil {
		return
	}
	if _, local := c.agent.System().Lookup(c.key.Peer); local {
		return
	}
	if !slices.ContainsFunc(c.codon.Table.Agree, func(p machine.Pair) bool { return p.Initiator == c.at.State && p.Responder == standard.StateCancelled }) {
		return // the table's responder has nothing to stop, such as an answer of its capabilities
	}
	cancel, err := c.first.Follow(c.agent.Stamp(), performatives.Cancel{Reason: "the deadline of the request has passed"})
	if err == nil { // the error is an invalid stamp
		_ = c.actor.Send(cancel) // Send has dead-lettered it
	}
}

// lastUsage returns the message with the final usage of a peer that has reported some: the last
// message, or an earlier one without work of the peer after it, such as a partial result or a
// proposal without acceptance.
func (c *Conversation) lastUsage(last *performatives.Message) *performatives.Message {
	switch {
	case last != nil && !last.Budget().IsZero() || c.event.On.Kind == machine.KindPeerLost:
	case last == nil && !c.asked && c.at.State != standard.StateTimedOut && c.at.State != standard.StateAbandoned && c.at.State != standard.StateMisread:
		return c.usage
	case last != nil && last.AsRefusal() != nil && last.Performative() != performatives.ActFailure:
		return c.usage // the further round was not taken on
	case last != nil && last.Performative() == performatives.ActInform && !c.asked && c.Sent(performatives.ActCancel) != nil:
		return c.usage // the further round was declined
	}
	return last
}

// stopped reports in its first result whether the peer's work is known to have stopped, and in its
// second one whether the work may still run. It may run if the conversation was withdrawn, or ended
// by a timer, by the loss of the peer or by a FAILURE that the peer's table sends by itself. Such a
// FAILURE comes before the peer's handler has returned.
func (c *Conversation) stopped(last *performatives.Message) (stopped, running bool) {
	if last == nil {
		return false, c.Withdrawn() || c.at.State == standard.StateAbandoned || c.event.misread() || c.event.On.Kind == machine.KindTimeout || c.event.On.Kind == machine.KindPeerLost
	}
	if last.Performative() != performatives.ActFailure {
		return true, false
	}
	switch code := last.AsRefusal().Code; code { //nolint:exhaustive // the codes of a FAILURE that the table sends by itself
	case performatives.CodeStillRunning, performatives.CodeTimeout, performatives.CodeStopped, performatives.CodeMoved, performatives.CodeDisconnected:
		arrived := !last.Undeliverable() || code == performatives.CodeDisconnected // a write that failed may have arrived
		return !arrived, arrived
	}
	return true, false
}

// Stop ends a conversation whose actor is stopped before its end. A conversation without a
// first message sends none. Only the actor calls it.
func (c *Conversation) Stop() {
	switch {
	case c.over.Load():
	case c.at.State == machine.Idle:
		c.Abandon(actors.ErrStopped)
	default:
		c.take(Input{On: machine.Commanded(standard.CommandStop), Moves: c.agent.Retiring()})
	}
	c.timers.stop()
}
