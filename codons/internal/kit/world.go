package kit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/rebuilt"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// World is a system of agents under test, with all codons. All conversations are checked against
// their tables.
type World struct {
	*systemtest.World
	T       testing.TB
	Eddy    actors.Self // the initiator of the tests
	Monitor *watch.Watch
	NoJSON  atomic.Bool          // the test sends contents that have no JSON form, so its records are not read back
	records *events.Subscription // nil in a benchmark

	sent       *events.Subscription // to messages
	said       map[p.MessageID]bool
	transcript []string

	stopOnce sync.Once
}

// InWorld runs a test in a new world, in virtual time.
func InWorld(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	InWorldWith(t, codons.Times{}, actors.Options{}, test)
}

// InWorldWith is InWorld with the times of the responders and the options of the system.
func InWorldWith(t *testing.T, d codons.Times, o actors.Options, test func(t *testing.T, w *World)) {
	t.Helper()
	systemtest.Bubble(t, func(t *testing.T) {
		w := NewWorld(t, d, o)
		defer w.End()
		test(t, w)
	})
}

// NewWorld returns a world outside of a bubble. [World.End] ends it.
func NewWorld(t testing.TB, d codons.Times, o actors.Options) *World {
	w := &World{T: t, World: systemtest.New(t.Errorf, systemtest.DeadLetter), said: map[p.MessageID]bool{}}
	o.Protocols = library.Protocols(d)
	err := w.World.Start(t.Context(), o)
	if err == nil {
		w.Monitor, err = watch.New(&w.Events, watch.Options{Codons: library.Codons(), Conversations: 1 << 13, Messages: 12, Queue: 1 << 16})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.sent = Recording(&w.Events, events.KindMessageSent)
	if _, bench := t.(*testing.B); !bench {
		w.records = w.Events.Subscribe(events.SubscribeOptions{Capacity: maxRecords, Kinds: []events.Kind{codons.KindRecorded}})
	}
	w.Eddy = w.Add("Eddy", &Worker{})
	return w
}

// End stops the world. The test fails if a conversation, a handler or an agent is left. It fails if
// a record does not rebuild its conversation, and for each problem that is not allowed.
func (w *World) End() {
	w.stopOnce.Do(func() {
		w.World.End(w.T.Context(), func(ctx context.Context) error { return errors.Join(w.Stop(ctx), w.Monitor.Stop(ctx)) })
		if n := w.Monitor.Counts(); n.Dropped > 0 {
			w.T.Errorf("not all was checked: %+v", n)
		}
		if w.records != nil && !w.NoJSON.Load() {
			w.checkRebuilt()
		}
	})
}

// Of the conversations of a world, the first maxRecords to end are rebuilt, but for those
// with more than maxEvents events: tests of load have many.
const (
	maxRecords = 256
	maxEvents  = 1000
)

// checkRebuilt rebuilds the recorded conversations from their events and from their JSON, and
// expects the same state, data and messages.
func (w *World) checkRebuilt() {
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

// Add spawns an agent.
func (w *World) Add(id p.AgentID, agent actors.Agent) actors.Self {
	w.T.Helper()
	self, err := w.Spawn(w.T.Context(), actors.Spec{ID: id, New: func() actors.Agent { return agent }})
	if err != nil {
		w.T.Fatal(err)
	}
	return self
}

// Delegate has Eddy delegate a task to Jules.
func (w *World) Delegate(ctx context.Context, opts ...codons.Option) (p.InformResult, error) {
	return delegation.Delegate(ctx, w.Eddy, "Jules", Task(), opts...)
}

// Start begins a delegation of Eddy to Jules.
func (w *World) Start(ctx context.Context, opts ...codons.Option) *delegation.Delegated {
	w.T.Helper()
	d, err := delegation.Start(ctx, w.Eddy, "Jules", Task(), opts...)
	if err != nil {
		w.T.Fatal(err)
	}
	return d
}

// Settled waits until all goroutines of the bubble are blocked. It fails the test unless no
// conversation is open and that many handlers are under way.
func (w *World) Settled(working int) {
	w.T.Helper()
	synctest.Wait()
	if n := w.Counts(); n.Open != 0 || n.Working != working {
		w.T.Errorf("%d conversations and %d handlers under way, want 0 and %d", n.Open, n.Working, working)
	}
}

// FillMailboxes has the runtime refuse all messages as busy, until room is called.
func (w *World) FillMailboxes() (room func()) {
	return w.Net.Set(systemtest.Fault{Name: "FillMailboxes", Left: -1, Do: systemtest.Refused(p.CodeBusy)})
}

// RefuseRepeats has the runtime refuse each copy of a message of an act but the first, as busy and
// by a message, and loses all messages of the acts lost.
func (w *World) RefuseRepeats(act p.Performative, lost ...p.Performative) {
	sent := map[p.MessageID]bool{}
	w.Net.Intercept(func(m *p.Message) bool {
		first := !sent[m.ID()]
		sent[m.ID()] = true
		if m.Performative() != act || first {
			return slices.Contains(lost, m.Performative())
		}
		w.Work(func() { w.RefuseCopy(m.Receiver(), m, &p.Refusal{Code: p.CodeBusy}) })
		return true
	})
}

// DelegateTo delegates a task with a budget and waits for its end.
func (w *World) DelegateTo(to p.AgentID, b codons.Budget) (*delegation.Delegated, error) {
	w.T.Helper()
	d, err := delegation.Start(w.T.Context(), w.Eddy, to, Task(), codons.WithBudget(b))
	if err != nil {
		w.T.Fatal(err)
	}
	_, err = d.Wait()
	return d, err
}

// BenchSystem returns a system with all codons, without a network, for benchmarks.
func BenchSystem(b *testing.B) *actors.System {
	b.Helper()
	s, err := actors.NewSystem(actors.Options{Protocols: library.Protocols(codons.Times{})})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}
