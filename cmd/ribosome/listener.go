package main

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// listener is the agent of ribosome listen. What it receives is printed by who watches
// it.
type listener struct {
	can    performatives.Capabilities
	result *performatives.InformResult // of each task; nil rejects them
}

// Describe returns what the flags say.
func (l *listener) Describe() performatives.Capabilities { return l.can }

// Receive takes what nobody answers.
func (*listener) Receive(*actors.Context, *performatives.Message) {}

// ConsiderTask accepts a task when there is an answer to give.
func (l *listener) ConsiderTask(context.Context, codons.Task) codons.Decision {
	if l.result == nil {
		return codons.Reject(performatives.CodeIncapable, "this agent only listens")
	}
	return codons.Accept()
}

// PerformTask gives the answer.
func (l *listener) PerformTask(context.Context, codons.Task) (performatives.InformResult, error) {
	return *l.result, nil
}

// received prints messages as they come.
type received struct {
	to    *printer
	codec *acl.Codec // nil prints for people
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

// message prints one message on one line.
func (r *received) message(ev actors.MessageReceived) {
	m := ev.Message
	if r.codec == nil {
		r.to.line(ev.Time.Format(time.TimeOnly) + " " + summaryOf(m))
		return
	}
	text, err := r.codec.Encode(m)
	if err != nil {
		r.to.failed(err)
		return
	}
	r.to.text(string(text) + "\n")
}

// summaryOf is who says what to whom, and as much of it as fits.
func summaryOf(m *performatives.Message) string {
	line := m.Performative().String() + " from " + string(m.Sender())
	if m.Receiver() == "" {
		line += " to all"
	}
	if content, err := performatives.ContentOf(m.Payload()).MarshalJSON(); err == nil && m.Payload() != nil {
		line += ": " + string(content)
	}
	return line
}
