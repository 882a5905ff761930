package systemtest

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Problem is a kind of event that a world reports at its end.
type Problem string

// The problems.
const (
	ErrorLogged    Problem = "an error was logged"
	Violation      Problem = "a message breaks its protocol"
	PayloadChanged Problem = "a payload was changed after it was sent"
	DeadLetter     Problem = "a message could not be delivered" // before the end
)

// eventQueue is the largest number of events that the end of a world reads.
const eventQueue = 1 << 14

// World surrounds a system of agents under test.
type World struct {
	*actors.System // set by Watch
	Net            Network

	report  func(format string, args ...any)
	pool    *actors.Pool // nil for a test that has brought a dispatcher
	log     errorLog
	events  *events.Subscription // to problems but dead letters
	letters *events.Subscription // to dead letters, before the end

	mu      sync.Mutex
	allowed map[Problem]bool
}

// Bubble runs a test in a testing/synctest bubble, with [codons.CheckPayloads].
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	before := codons.CheckPayloads.Swap(true)
	defer codons.CheckPayloads.Store(before)
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) //nolint:forbidigo // the clock of a synctest bubble; the engine has a goroutine that waits for a timer
		test(t)
	})
}

// New returns a world for a system that does not exist yet. report is called for each problem
// but those that are allowed.
func New(report func(format string, args ...any), allowed ...Problem) *World {
	w := &World{report: report, allowed: map[Problem]bool{}}
	w.Allow(allowed...)
	return w
}

// Allow says that problems of these kinds are not reported.
func (w *World) Allow(problems ...Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range problems {
		w.allowed[p] = true
	}
}

// Dispatcher returns d, or workers of the world's own if d is nil.
func (w *World) Dispatcher(d actor.Dispatcher) actor.Dispatcher {
	if d != nil || enginedispatcher.Enabled {
		return d
	}
	w.pool = actors.NewPool(actors.PoolOptions{Workers: max(4, goruntime.GOMAXPROCS(0))}) // a worker that waits must not stop the clock
	return w.pool
}

// Logger returns a logger whose errors are problems. It passes all on to l if that is not nil.
func (w *World) Logger(l *slog.Logger) *slog.Logger { return slog.New(w.log.handler(l)) }

// Start starts a system with the dispatcher, the logger and the network of the world.
func (w *World) Start(ctx context.Context, o actors.Options) error {
	o.Dispatcher, o.Logger, o.Router = w.Dispatcher(o.Dispatcher), w.Logger(o.Logger), &w.Net
	s, err := actors.NewSystem(o)
	if err != nil {
		return errors.Join(err, w.dismiss(ctx))
	}
	w.Watch(s)
	return nil
}

// dismiss stops the workers.
func (w *World) dismiss(ctx context.Context) error {
	if w.pool == nil {
		return nil
	}
	return w.pool.Close(ctx)
}

// Watch records the problems of a system from now on.
func (w *World) Watch(s *actors.System) {
	w.System, w.Net.system = s, s
	w.events = s.Events.Subscribe(events.SubscribeOptions{Capacity: eventQueue, Kinds: []events.Kind{lifecycle.KindViolation, lifecycle.KindPayload}})
	w.letters = s.Events.Subscribe(events.SubscribeOptions{Capacity: eventQueue, Kinds: []events.Kind{events.KindMessageDeadLettered}})
}

// End stops the system by stop, and reports each agent and handler that is left, and all problems.
func (w *World) End(ctx context.Context, stop func(context.Context) error) {
	w.letters.Close() // later ones are messages for agents that stop
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer cancel()
	if err := errors.Join(stop(ctx), w.dismiss(ctx)); err != nil {
		w.report("the system did not stop: %v", err)
	}
	if c := w.Counts(); c.Agents != 0 || c.Open != 0 || c.Working != 0 {
		w.report("after the end %d agents, %d conversations and %d jobs are left", c.Agents, c.Open, c.Working)
	}
	w.events.Close()
	w.checkEvents(w.letters)
	w.checkEvents(w.events)
	if lost := w.events.Lost(); lost > 0 {
		w.report("%d events were lost, so not all was checked", lost)
	}
	for _, text := range w.log.take() {
		if !strings.Contains(text, loggedChange) { // its event was reported
			w.problem(ErrorLogged, "%s", text)
		}
	}
	for _, name := range w.Net.unmet() {
		w.report("the fault %s met too few messages", name)
	}
}

// loggedChange is a part of the error that is logged beside a [lifecycle.PayloadChanged].
const loggedChange = "a payload was changed after its message was sent"

// problem reports a problem, unless it is allowed.
func (w *World) problem(p Problem, format string, args ...any) {
	w.mu.Lock()
	allowed := w.allowed[p]
	w.mu.Unlock()
	if !allowed {
		w.report("%s: "+format, append([]any{p}, args...)...)
	}
}

// dropped are the codes of messages that a table drops: they were delivered, and say
// nothing new.
var dropped = []performatives.Code{machine.DropDuplicate, machine.DropStale, machine.DropLate}

// checkEvents reports the problems among the events of a subscription, which is closed.
func (w *World) checkEvents(all *events.Subscription) {
	for r := range all.C {
		switch e := r.Event.(type) {
		case lifecycle.Violation:
			w.problem(Violation, "%s to %s: %v", e.Sender, e.Receiver, e)
		case lifecycle.PayloadChanged:
			w.problem(PayloadChanged, "%s, a %s", e.Message, e.Type)
		case events.DeadLetter:
			if !slices.Contains(dropped, e.Code) {
				w.problem(DeadLetter, "%s for %s: %s", describe(e.Message), e.To, e.Code)
			}
		}
	}
}
