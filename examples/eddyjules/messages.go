package main

import (
	"io"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// messages prints the log line of acl §7.2 of every message when it is sent and when it is
// received, in causal order. A message that arrives after the end of its conversation, as around
// a deadline, is only printed as sent.
type messages struct {
	codec *acl.Codec
	out   *program.Output
}

func newMessages(w io.Writer) *messages {
	return &messages{acl.New(wire.CodecOptions{}), program.NewOutput(w)}
}

func (l *messages) observe(r events.Record) {
	switch e := r.Event.(type) {
	case events.MessageSent:
		l.print(acl.Sent, e.Message)
	case events.MessageReceived:
		l.print(acl.Received, e.Message)
	}
}

func (l *messages) print(d acl.Direction, m *performatives.Message) {
	line, err := l.codec.AppendLogLine(nil, d, m)
	if err != nil {
		l.out.Fail(err)
		return
	}
	_, _ = l.out.Write(append(line, '\n')) // end returns the error
}

func (l *messages) end(performatives.InformResult, error) error { return program.Printing(l.out.Err()) }
