package kit

import (
	"context"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// World is a system of agents under test. All messages pass a network that a test can disturb, and
// all conversations are checked against their tables.
type World struct {
	*actors.System
	T               testing.TB
	Net             *network
	pool            *actors.Pool // nil for a test that has brought a dispatcher
	Eddy            actors.Self  // the initiator of the tests
	Monitor         *monitor
	AllowViolations atomic.Bool          // the test breaks the protocol on purpose, so violations are no failures
	NoJSON          atomic.Bool          // the test sends contents that have no JSON form, so its records are not read back
	records         *events.Subscription // nil in a benchmark
	stopOnce        sync.Once
}

// InWorld runs a test in a new world, in virtual time.
func InWorld(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	InWorldOf(t, codons.Times{}, test)
}

// InWorldOf is InWorld with the times of the responders.
func InWorldOf(t *testing.T, d codons.Times, test func(t *testing.T, w *World)) {
	t.Helper()
	inWorldWithOf(t, d, actors.Options{}, test)
}

// InWorldWith is InWorld with the options of the system.
func InWorldWith(t *testing.T, o actors.Options, test func(t *testing.T, w *World)) {
	t.Helper()
	inWorldWithOf(t, codons.Times{}, o, test)
}

// inWorldWithOf is InWorld with both.
func inWorldWithOf(t *testing.T, d codons.Times, o actors.Options, test func(t *testing.T, w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, d, o)
		defer func() {
			w.End()
			time.Sleep(time.Second) //nolint:forbidigo // the clock of a synctest bubble; the engine has a goroutine that waits for a timer
		}()
		test(t, w)
	})
}

// NewWorld returns a world outside of a bubble. [World.End] ends it.
func NewWorld(t testing.TB, d codons.Times, o actors.Options) *World {
	w := &World{T: t, Net: &network{}}
	o.Protocols = library.Protocols(d)
	o.Router = w.Net
	if o.Dispatcher == nil && !enginedispatcher.Enabled { // with one worker, a goroutine that waits for another stops virtual time
		w.pool = actors.NewPool(actors.PoolOptions{Workers: max(2, goruntime.GOMAXPROCS(0))})
		o.Dispatcher = w.pool
	}
	sys, err := actors.NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	w.System, w.Net.system = sys, sys
	w.Monitor = newMonitor(t, &sys.Events)
	w.recordAll()
	w.Eddy = w.Add("Eddy", &Worker{})
	return w
}

// End stops the world. It fails the test when a conversation, a handler or an agent is left, and
// for each violation unless the world is AllowViolations.
func (w *World) End() {
	w.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Stop(ctx); err != nil {
			w.T.Error(err)
		}
		if w.pool != nil {
			if err := w.pool.Close(ctx); err != nil {
				w.T.Error(err)
			}
		}
		if n := w.Counts(); n.Open != 0 || n.Working != 0 || n.Agents != 0 {
			w.T.Errorf("after the end: %+v", n)
		}
		w.checkRebuilt()
		if err := w.Monitor.Watch.Stop(ctx); err != nil {
			w.T.Error(err)
		}
		if n := w.Monitor.Watch.Counts(); n.Dropped > 0 {
			w.T.Errorf("not all was checked: %+v", n)
		}
		if !w.AllowViolations.Load() {
			for _, v := range w.Monitor.Violations() {
				w.T.Errorf("%s to %s: %v", v.Sender, v.Receiver, v)
			}
		}
	})
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
