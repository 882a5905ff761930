package actors

import (
	"cmp"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

func refusal(m *performatives.Message, from performatives.AgentID, code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, From: from, About: m.ID(), Text: text}
}

// asRefusal gives any error of a router the form that a sender gets.
func asRefusal(m *performatives.Message, err error) *performatives.Refusal {
	var r *performatives.Refusal
	if errors.As(err, &r) {
		return r
	}
	return refusal(m, "", performatives.CodeInternal, "")
}

// codeOf says why an agent's mailbox did not take a message.
func codeOf(reason Reason) performatives.Code {
	if reason == ReasonFull {
		return performatives.CodeBusy
	}
	return performatives.CodeStopped
}

// Refuse tells m's sender that agent from does not serve m, and why: by an
// answer when m expects one, else m is a dead letter.
func (s *System) Refuse(from performatives.AgentID, m *performatives.Message, code performatives.Code, text string) {
	s.refuse(from, m, code, text)
}

func (s *System) refuse(from performatives.AgentID, m *performatives.Message, code performatives.Code, text string) {
	if from == "" { // a broadcast names no receiver: the node answers for who did not
		from = performatives.AgentID(s.opts.Node)
	}
	reply := m.Refuse(from, s.Stamp(), code, text)
	if reply == nil {
		s.deadLetter(string(cmp.Or(m.Receiver(), from)), m, code) // of a broadcast, who it did not reach
		return
	}
	s.noteRefused(m, refusal(m, from, code, text))
	if Wants[MessageSent](&s.Events) {
		s.Events.Publish(MessageSent{s.at(), reply})
	}
	if err := s.opts.Router.Route(reply); err != nil {
		s.deadLetter(string(reply.Receiver()), reply, asRefusal(reply, err).Code)
	}
}

func (s *System) noteRefused(m *performatives.Message, r *performatives.Refusal) {
	s.refused.Add(1)
	if Wants[MessageRefused](&s.Events) {
		s.Events.Publish(MessageRefused{s.at(), m, r})
	}
}

// DeadLetter counts and publishes a message that nobody handles and nobody waits
// for an answer to.
func (s *System) DeadLetter(to string, m *performatives.Message, code performatives.Code) {
	s.deadLetter(to, m, code)
}

func (s *System) deadLetter(to string, message any, code performatives.Code) {
	s.dead.Add(1)
	if Wants[DeadLetter](&s.Events) {
		s.Events.Publish(DeadLetter{s.at(), to, message, code})
	}
}

// undelivered is what becomes of what an agent's mailbox cannot take or has to
// give up.
func (s *System) undelivered(message any, reason Reason) {
	switch m := unwrap(message).(type) {
	case *performatives.Message:
		s.refuse(m.Receiver(), m, codeOf(reason), "")
	case *do:
		if m.refused != nil {
			m.refused()
		}
	case *begin:
		s.abandon(m.conversation, ErrStopped)
	case *again:
		s.refuse(m.message.Receiver(), m.message, performatives.CodeStopped, "")
	case *spawn: // the group has stopped
		m.reply <- ErrStopped
	case command, Control, *actor.PoisonPill: // their purpose is gone with the actor
	default:
		s.deadLetter("", m, codeOf(reason))
	}
}

// undeliveredInConversation is the same for the mailbox of a conversation, which
// ends while its agent lives on. What the conversation tells itself is no message
// that anyone misses.
func (s *System) undeliveredInConversation(message any, reason Reason) {
	m, ok := unwrap(message).(*performatives.Message)
	switch {
	case !ok:
	case reason == ReasonStopped:
		s.returnToAgent(m)
	default:
		s.refuse(m.Receiver(), m, codeOf(reason), "")
	}
}

// returnToAgent gives an agent back what a conversation of its had no time to
// handle, for the epilogue to answer.
func (s *System) returnToAgent(m *performatives.Message) {
	if c, ok := s.lookup(m.Receiver()); ok {
		Self{c}.Return(m)
		return
	}
	s.refuse(m.Receiver(), m, performatives.CodeStopped, "")
}

// abandon ends a conversation whose actor never starts.
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

// Counts are totals since the system started.
type Counts struct {
	Refused     uint64 // messages that were refused to their senders
	DeadLetters uint64 // messages that nobody handled and nobody waited for
	Agents      int    // agents that run
	Open        int    // conversations under way
	Working     int    // handlers under way, those abandoned included
}

// Counts returns the current figures.
func (s *System) Counts() Counts {
	return Counts{s.refused.Load(), s.dead.Load(), s.running.value(), s.open.value() + s.standing.value(), s.work.value()}
}

// Refused counts and publishes that m, which has not been routed, is refused, and that
// whoever has sent it is told so by the caller. A message that expects no reply is a dead
// letter.
func (s *System) Refused(m *performatives.Message, r *performatives.Refusal) {
	if m.Performative().ExpectsReply() {
		s.noteRefused(m, r)
		return
	}
	s.deadLetter(string(cmp.Or(m.Receiver(), r.From)), m, r.Code)
}
