package codons_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// monitor has what is said checked against the tables, and writes it down.
type monitor struct {
	watch      *codons.Watch
	mu         sync.Mutex
	said       map[p.MessageID]bool
	violations []codons.Violation
	transcript []string
}

// newMonitor watches a world's events, until its watch is stopped.
func newMonitor(t testing.TB, events *actors.Events) *monitor {
	t.Helper()
	o := &monitor{said: map[p.MessageID]bool{}}
	events.Listen(o.observe, actors.About[actors.MessageSent](), actors.About[codons.Violation]())
	var err error
	if o.watch, err = codons.NewWatch(events, codons.WatchOptions{Messages: 12, Queue: 1 << 16}); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *monitor) observe(ev actors.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e := ev.(type) {
	case actors.MessageSent:
		o.transcript = append(o.transcript, line(e.Message, o.said[e.Message.ID()]))
		o.said[e.Message.ID()] = true
	case codons.Violation:
		o.violations = append(o.violations, e)
	}
}

// line is a message as transcripts show it.
func line(m *p.Message, again bool) string {
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

// lines returns what was said so far.
func (o *monitor) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.transcript)
}

// count returns how often that was said.
func (o *monitor) count(line string) int {
	n := 0
	for _, l := range o.lines() {
		if l == line {
			n++
		}
	}
	return n
}
