package codons

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// subject returns what the events of the conversation refer to. It is no part of the conversation,
// whose memory a reader of events would keep.
func (c *Conversation) subject() *lifecycle.Subject {
	if s := c.about.Load(); s != nil {
		return s
	}
	s := &lifecycle.Subject{Agent: c.self, Peer: c.key.Peer, Conversation: c.key.ID, Protocol: c.Protocol(), Role: c.role(), Parent: ParentOf(c.first)}
	c.about.Store(s)
	return s
}

func (c *Conversation) publishChanged(m *performatives.Message) {
	if stream := &c.agent.System().Events; events.Wants[lifecycle.PayloadChanged](stream) {
		stream.Publish(lifecycle.PayloadChanged{At: events.At{Time: time.Now()}, Agent: c.agent.ID(), Conversation: c.key.ID, Message: m.ID(), Type: fmt.Sprintf("%T", m.Payload())})
	}
}

// publishEnded publishes the end in a state. code is asked only when there is a subscription.
func (c *Conversation) publishEnded(at time.Time, state machine.State, code func() performatives.Code) {
	if stream := &c.agent.System().Events; events.Wants[lifecycle.Ended](stream) {
		c.progress.mu.Lock()
		path := c.progress.path.states()
		c.progress.mu.Unlock()
		events.Publish(stream, lifecycle.Ended{At: events.At{Time: at}, Subject: c.subject(), State: state, Code: code(), Began: c.timers.began, Span: c.Span(), Path: path})
	}
}

func (c *Conversation) publishResent(m *performatives.Message) {
	if stream := &c.agent.System().Events; events.Wants[lifecycle.Resent](stream) {
		stream.Publish(lifecycle.Resent{At: events.At{Time: c.at.Updated}, Subject: c.subject(), Message: m.ID(), Performative: m.Performative()})
	}
}

// publishJob publishes the end of a job that m has started; m is nil for none. failure is the error
// of a job that has failed.
func (c *Conversation) publishJob(job, label string, m *performatives.Message, began time.Time, last Command, failure error) {
	if stream := &c.agent.System().Events; events.Wants[lifecycle.JobEnded](stream) {
		events.Publish(stream, lifecycle.JobEnded{
			At: events.At{Time: time.Now()}, Subject: c.subject(), Job: job, Command: last.Name, Code: codeOf(last.Data),
			Began: began, Span: c.jobSpan(job, m), Label: label, Err: failure,
		})
	}
}

// codeOf returns the code of the payload of a refusal, empty for any other payload.
func codeOf(payload any) performatives.Code {
	r, _, refuses := performatives.RefusalIn(payload)
	if !refuses || r.Act == performatives.ActRejectProposal {
		return ""
	}
	return cmp.Or(r.Code, performatives.CodeUnspecified)
}

// endCode returns why the end of this side is no good one, empty for a good one. last is the
// message that ended it, nil for none.
func (c *Conversation) endCode(last *performatives.Message) performatives.Code {
	if code, lost := c.event.lostPeer(); lost {
		return code
	}
	if c.at.Role == machine.Responder && len(c.sent) > 0 {
		last = c.sent[len(c.sent)-1].Message
	}
	if last != nil && c.at.State != standard.StateCancelled {
		if r := last.AsRefusal(); r != nil {
			return r.Code
		}
	}
	switch c.at.State { //nolint:exhaustive // the states that no refusal brings about
	case standard.StateTimedOut:
		return performatives.CodeTimeout
	case standard.StateCancelled:
		return performatives.CodeCanceled
	case standard.StateAbandoned:
		return performatives.CodeStopped
	case standard.StateMisread:
		return performatives.CodeUnexpectedAct
	case standard.StateFailed:
		return performatives.CodeFailed
	}
	return ""
}
