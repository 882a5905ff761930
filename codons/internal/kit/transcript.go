package kit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Lines returns a line for each message that was sent so far.
func (w *World) Lines() []string {
	w.T.Helper()
	for _, e := range Published[events.MessageSent](w.T, w.sent) {
		w.transcript = append(w.transcript, Line(e.Message, w.said[e.Message.ID()]))
		w.said[e.Message.ID()] = true
	}
	return slices.Clone(w.transcript)
}

// Count returns how often a line is in the transcript.
func (w *World) Count(line string) int {
	n := 0
	for _, l := range w.Lines() {
		if l == line {
			n++
		}
	}
	return n
}

// Line returns the line of a message in transcripts. again marks a repeated message.
func Line(m *p.Message, again bool) string {
	text := fmt.Sprintf("%s -> %s: %s", m.Sender(), m.Receiver(), m.Performative())
	switch c := m.Payload().(type) {
	case p.InformResult:
		text += " " + string(c.Status)
	case p.TaskReject:
		text += " " + string(c.ReasonCode)
	case p.Failure:
		text += " " + string(c.ErrorCode)
	case p.NotUnderstood:
		text += " " + string(c.ReasonCode)
	case p.StatusUpdate:
		text += " " + c.Description
	}
	if again {
		text += " (again)"
	}
	return text
}

// Recording returns a subscription whose events [Published] returns.
func Recording(stream *events.Stream, kinds ...events.Kind) *events.Subscription {
	return stream.Subscribe(events.SubscribeOptions{Capacity: 1 << 16, Kinds: kinds})
}

// Published returns the events since the last call, without waiting. It fails the test when events
// were lost.
func Published[E events.Event](t testing.TB, s *events.Subscription) (all []E) {
	t.Helper()
	if n := s.Lost(); n > 0 {
		t.Errorf("%d events were lost", n)
	}
	for len(s.C) > 0 {
		if e, ok := (<-s.C).Event.(E); ok {
			all = append(all, e)
		}
	}
	return all
}
