package main

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// listener is the agent of ribosome listen. An observer of the node's events prints the
// messages that it receives.
type listener struct {
	can    performatives.Capabilities
	result *performatives.InformResult // of each task; nil rejects them
}

// Describe returns the topics and actions of the flags.
func (l *listener) Describe() performatives.Capabilities { return l.can }

// Receive refuses requests other than tasks, and ignores all other messages.
func (*listener) Receive(c *actors.Context, m *performatives.Message) {
	if m.Performative().ExpectsReply() {
		c.System().Refuse(c.ID(), m, performatives.CodeIncapable, onlyListens)
	}
}

// onlyListens is the text of a refusal.
const onlyListens = "this agent only listens"

// ConsiderTask accepts a task if --answer is set.
func (l *listener) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	if l.result == nil {
		return delegation.Reject(performatives.CodeIncapable, onlyListens)
	}
	return delegation.Accept()
}

// PerformTask returns the result with the details of --answer.
func (l *listener) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return *l.result, nil
}

// received prints messages.
type received struct {
	to    *printer
	codec *acl.Codec // nil means text for people
}

func newReceived(to *printer, asJSON bool) *received {
	if !asJSON {
		return &received{to: to}
	}
	codec, err := acl.New(acl.Options{})
	if err != nil {
		panic(err) // the zero options are valid
	}
	return &received{to, codec}
}

// message prints one message on one line, with the time of its arrival for people.
func (r *received) message(ev events.MessageReceived) {
	if r.codec == nil {
		r.to.line(ev.Time.Format(time.TimeOnly) + " " + summaryOf(ev.Message))
		return
	}
	r.encoded(ev.Message)
}

// answer prints one message on one line.
func (r *received) answer(m *performatives.Message) {
	if r.codec == nil {
		r.to.line(summaryOf(m))
		return
	}
	r.encoded(m)
}

// encoded prints one message as JSON.
func (r *received) encoded(m *performatives.Message) {
	text, err := r.codec.Encode(m)
	if err != nil {
		r.to.failed(err)
		return
	}
	r.to.text(string(plainJSON(text)) + "\n")
}

// end prints the messages that wait. The error says that some messages were not printed.
func (r *received) end(ctx context.Context, printing *events.Handler) error {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := printing.Stop(patient); err != nil {
		return failf("the output is not complete: it takes no more; run it again with an output that is read")
	}
	if n := printing.Lost(); n > 0 {
		return failf("the output is not complete: %d messages came faster than they could be printed; run it again with a faster output", n)
	}
	return r.to.end()
}

// summaryOf returns the act, the message type, the sender and the payload of a message.
func summaryOf(m *performatives.Message) string {
	line := m.Performative().String()
	if m.MessageType() != "" {
		line += " " + m.MessageType()
	}
	line += " from " + string(m.Sender().Name())
	if m.Receiver() == "" {
		line += " to all"
	}
	if content, err := performatives.ContentOf(m.Payload()).MarshalJSON(); err == nil && m.Payload() != nil {
		line += ": " + string(plainJSON(content))
	}
	return line
}
