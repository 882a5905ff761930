package kit

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/rebuilt"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// monitor checks the messages of a world against the tables, and records them as a transcript.
type monitor struct {
	t        testing.TB
	Watch    *watch.Watch
	sent     *events.Subscription // to messages
	violated *events.Subscription // to violations

	mu         sync.Mutex
	said       map[p.MessageID]bool
	transcript []string
}

// newMonitor watches the events of a world until its watch is stopped.
func newMonitor(t testing.TB, stream *events.Stream) *monitor {
	t.Helper()
	o := &monitor{t: t, sent: Recording(stream, events.KindMessageSent), violated: Recording(stream, lifecycle.KindViolation), said: map[p.MessageID]bool{}}
	var err error
	if o.Watch, err = watch.New(stream, watch.Options{Codons: library.Codons(), Conversations: 1 << 13, Messages: 12, Queue: 1 << 16}); err != nil {
		t.Fatal(err)
	}
	return o
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

// Violations returns the violations since the last call.
func (o *monitor) Violations() []lifecycle.Violation {
	return Published[lifecycle.Violation](o.t, o.violated)
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

// Lines returns the transcript so far.
func (o *monitor) Lines() []string {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range Published[events.MessageSent](o.t, o.sent) {
		o.transcript = append(o.transcript, Line(e.Message, o.said[e.Message.ID()]))
		o.said[e.Message.ID()] = true
	}
	return slices.Clone(o.transcript)
}

// Count returns how often a line is in the transcript.
func (o *monitor) Count(line string) int {
	n := 0
	for _, l := range o.Lines() {
		if l == line {
			n++
		}
	}
	return n
}

// Of the conversations of a world, the first maxRecords to end are rebuilt, but for those
// with more than maxEvents events: tests of load have many.
const (
	maxRecords = 256
	maxEvents  = 1000
)

// recordAll records the conversations of a test. Those of a benchmark are not recorded.
func (w *World) recordAll() {
	if _, ok := w.T.(*testing.T); ok {
		w.records = w.Events.Subscribe(events.SubscribeOptions{Capacity: maxRecords, Kinds: []events.Kind{codons.KindRecorded}})
	}
}

// checkRebuilt rebuilds every recorded conversation from its events and from their JSON,
// and expects the same state, data and messages.
func (w *World) checkRebuilt() {
	if w.records == nil {
		return
	}
	w.records.Close()
	if w.NoJSON.Load() {
		return
	}
	all := library.Codons()
	for len(w.records.C) > 0 {
		e, ok := (<-w.records.C).Event.(codons.Recorded)
		if !ok || len(e.Record.Events) > maxEvents {
			continue
		}
		if err := rebuilt.Check(e, all...); err != nil {
			w.T.Error(err)
		}
	}
}
