package actors

import (
	"cmp"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

func refusal(m *performatives.Message, from performatives.AgentID, code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, From: from, About: m.ID(), Text: text}
}

// asRefusal returns a router's error as a refusal. An error of another type becomes
// [performatives.CodeInternal] without text.
func asRefusal(m *performatives.Message, err error) *performatives.Refusal {
	var r *performatives.Refusal
	if errors.As(err, &r) {
		return r
	}
	return refusal(m, "", performatives.CodeInternal, "")
}

// codeForReason returns the code of the refusal for a mailbox's reason.
func codeForReason(reason Reason) performatives.Code {
	if reason == ReasonFull {
		return performatives.CodeBusy
	}
	return performatives.CodeStopped
}

// Refuse reports to m's sender that agent from does not serve m, with the code and text.
// When m expects no reply, it becomes a dead letter instead.
func (s *System) Refuse(from performatives.AgentID, m *performatives.Message, code performatives.Code, text string) {
	s.RefuseWith(from, m, &performatives.Refusal{Code: code, Text: text})
}

// RefuseWith is [System.Refuse] with the code, the text and the RetryAfter of r.
func (s *System) RefuseWith(from performatives.AgentID, m *performatives.Message, r *performatives.Refusal) {
	s.refuseBy(from, m, r, (*performatives.Message).RefuseWith)
}

// RefuseCopy is [System.RefuseWith] for one copy of m that agent from has not got. The reply
// is marked as [performatives.Message.Undeliverable]: another copy may have reached the
// agent.
func (s *System) RefuseCopy(from performatives.AgentID, m *performatives.Message, r *performatives.Refusal) {
	s.refuseBy(from, m, r, (*performatives.Message).RefuseCopy)
}

// agentStopped is the refusal by an agent that has stopped.
var agentStopped = &performatives.Refusal{Code: performatives.CodeStopped}

// refusing makes the refusal of a message.
type refusing func(*performatives.Message, performatives.AgentID, performatives.Stamp, *performatives.Refusal) *performatives.Message

func (s *System) refuseBy(from performatives.AgentID, m *performatives.Message, r *performatives.Refusal, with refusing) {
	if from == "" { // a broadcast has no receiver: the refusal comes from the node
		from = performatives.AgentID(s.opts.Node)
	}
	reply := with(m, from, s.Stamp(), r)
	if reply == nil {
		s.deadLetter(string(cmp.Or(m.Receiver(), from)), m, r.Code) // for a broadcast, the agent that did not get it
		return
	}
	s.sendRefusal(m, reply, &performatives.Refusal{Code: r.Code, From: from, About: m.ID(), Text: r.Text, RetryAfter: r.RetryAfter})
}

// sendRefusal counts and publishes a refusal, and sends the reply that carries it.
func (s *System) sendRefusal(m, reply *performatives.Message, r *performatives.Refusal) {
	s.publishRefused(m, r)
	if events.Wants[events.MessageSent](&s.Events) {
		s.Events.Publish(events.MessageSent{At: s.at(), Message: reply})
	}
	if err := s.Route(s.sealRefusal(reply.Sender(), m, reply, r)); err != nil {
		s.deadLetter(string(reply.Receiver()), reply, asRefusal(reply, err).Code)
	}
}

// refuseOpening is refuse for a message that opens a conversation of a role. Where the act by
// itself expects no reply, the initiator of a [TimedResponder] role does, and gets FAILURE.
func (c *cell) refuseOpening(role Responder, m *performatives.Message, r *performatives.Refusal) {
	if _, timed := role.(TimedResponder); timed && !m.Performative().ExpectsReply() {
		failure := performatives.Failure{ErrorCode: r.Code, ErrorText: cmp.Or(r.Text, r.Code.Traits().Text), RetryAfter: r.RetryAfter}
		if reply, err := m.ReplyFrom(c.id, c.sys.Stamp(), performatives.ActFailure, failure); err == nil {
			c.sys.sendRefusal(m, reply, r)
			return
		}
	}
	c.sys.RefuseRequest(c.id, m, r)
}

// RefuseRequest reports the error of [Self.TakeOn] to the sender of m. That there is no room
// for the id is about one copy of m, see [System.RefuseCopy]. That m was taken on before is
// final.
func (s *System) RefuseRequest(from performatives.AgentID, m *performatives.Message, r *performatives.Refusal) {
	if r.Code == performatives.CodeConversationEnded {
		s.RefuseWith(from, m, r)
		return
	}
	s.RefuseCopy(from, m, r)
}

func (s *System) publishRefused(m *performatives.Message, r *performatives.Refusal) {
	s.refused.Add(1)
	if events.Wants[events.MessageRefused](&s.Events) {
		s.Events.Publish(events.MessageRefused{At: s.at(), Message: m, Refusal: r})
	}
}

// DeadLetter counts and publishes a message that is not handled and expects no reply.
func (s *System) DeadLetter(to string, m *performatives.Message, code performatives.Code) {
	s.deadLetter(to, m, code)
}

func (s *System) deadLetter(to string, message any, code performatives.Code) {
	s.dead.Add(1)
	if events.Wants[events.DeadLetter](&s.Events) {
		s.Events.Publish(events.DeadLetter{At: s.at(), To: to, Message: message, Code: code})
	}
}

// handleUndeliverable handles a message that an agent's mailbox refused.
func (s *System) handleUndeliverable(message any, reason Reason) {
	switch m := unwrap(message).(type) {
	case *performatives.Message:
		if reason == ReasonStopped && s.giveBack(m) {
			return
		}
		s.RefuseCopy(m.Receiver(), m, &performatives.Refusal{Code: codeForReason(reason)})
	case *do:
		if m.refused != nil {
			m.refused()
		}
	case *begin:
		s.abandon(m.conversation, ErrStopped)
	case *waited:
		if !s.giveBack(m.message) {
			s.RefuseCopy(m.message.Receiver(), m.message, agentStopped)
		}
	case *redelivery:
		s.RefuseCopy(m.message.Receiver(), m.message, agentStopped)
	case *spawn: // the group has stopped
		m.reply <- ErrStopped
	case command, Control, *actor.PoisonPill: // has no meaning without its actor
	default:
		s.deadLetter("", m, codeForReason(reason))
	}
}

// abandon ends a conversation whose actor does not start, if it has an Abandon method.
func (s *System) abandon(c Conversation, err error) {
	if a, ok := c.(interface{ Abandon(error) }); ok {
		a.Abandon(err)
	}
}

func unwrap(message any) any {
	if e, ok := message.(*actor.MessageEnvelope); ok {
		return e.Message
	}
	return message
}

// Counts are the counters of a system. Refused, DeadLetters, Busy, Overload and Loops are totals
// since it started; the others are current numbers.
type Counts struct {
	Refused     uint64 // messages refused to their senders
	DeadLetters uint64 // messages that were not handled and expected no reply
	Agents      int    // running agents
	Remote      int    // registered agents of other processes
	Open        int    // open conversations
	Working     int    // handlers that run, abandoned ones included, or wait for a processor, and short work of the node itself
	Busy        uint64 // how often the actor of an agent had not come back for [BusyTime]
	Overload    uint64 // requests refused because the node had more to do than its processors can
	Refusing    bool   // the node has refused such a request within the last second
	Queued      int    // handlers that wait for a processor
	Loops       uint64 // chains of messages that [System.ReportLoop] was told of
}

// Counts returns the current values.
func (s *System) Counts() Counts {
	c := Counts{
		Refused: s.refused.Load(), DeadLetters: s.dead.Load(), Agents: s.running.value(), Remote: s.remote.value(),
		Open: s.open.value() + s.longLived.value(), Working: s.work.value(), Busy: s.busy.Load(), Loops: s.looped.Load(),
	}
	if s.gate != nil {
		g := s.gate.Counts()
		c.Overload, c.Refusing, c.Queued = g.Refused, g.Refusing, g.Waiting
	}
	return c
}

// RecordRefusal counts and publishes the refusal of m, which was not routed. The caller
// informs m's sender. A message that expects no reply is counted as a dead letter.
func (s *System) RecordRefusal(m *performatives.Message, r *performatives.Refusal) {
	if m.Performative().ExpectsReply() {
		s.publishRefused(m, r)
		return
	}
	s.deadLetter(string(cmp.Or(m.Receiver(), r.From)), m, r.Code)
}
