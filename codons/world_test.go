package codons_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// world is a system of agents under test, whose messages all pass a network that
// a test can disturb, and whose conversations are checked against their tables.
type world struct {
	*actors.System
	t        testing.TB
	net      *network
	pool     *actors.Pool // nil for a test that has brought a dispatcher
	eddy     actors.Self  // who asks
	monitor  *monitor
	lawless  atomic.Bool // the test has someone break the protocol
	stopOnce sync.Once
}

// inWorld runs a test in a world of its own, in virtual time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorldOf(t, codons.Delegation{}, test)
}

func inWorldOf(t *testing.T, d codons.Delegation, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorldWithOf(t, d, actors.Options{}, test)
}

func inWorldWith(t *testing.T, o actors.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	inWorldWithOf(t, codons.Delegation{}, o, test)
}

func inWorldWithOf(t *testing.T, d codons.Delegation, o actors.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, d, o)
		defer func() {
			w.stop()
			time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
		}()
		test(t, w)
	})
}

func newWorld(t testing.TB, d codons.Delegation, o actors.Options) *world {
	w := &world{t: t, net: &network{}}
	o.Protocols = codons.Protocols(codons.Times(d))
	o.Router = w.net
	if o.Dispatcher == nil { // with one worker, on one core, who waits for another stops the clock
		w.pool = actors.NewPool(actors.PoolOptions{Workers: max(2, goruntime.GOMAXPROCS(0))})
		o.Dispatcher = w.pool
	}
	sys, err := actors.NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	w.System, w.net.system = sys, sys
	w.monitor = newMonitor(t, &sys.Events)
	w.eddy = w.spawn("Eddy", &worker{})
	return w
}

// stop ends the world, and expects that nothing of it remains.
func (w *world) stop() {
	w.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Stop(ctx); err != nil {
			w.t.Error(err)
		}
		if w.pool != nil {
			if err := w.pool.Close(ctx); err != nil {
				w.t.Error(err)
			}
		}
		if n := w.Counts(); n.Open != 0 || n.Working != 0 || n.Agents != 0 {
			w.t.Errorf("after the end: %+v", n)
		}
		if err := w.monitor.watch.Stop(ctx); err != nil {
			w.t.Error(err)
		}
		if n := w.monitor.watch.Counts(); n.Dropped > 0 {
			w.t.Errorf("not all was checked: %+v", n)
		}
		if !w.lawless.Load() {
			for _, v := range w.monitor.violations {
				w.t.Errorf("%s to %s: %v", v.Sender, v.Receiver, v)
			}
		}
	})
}

func (w *world) spawn(id p.AgentID, agent actors.Agent) actors.Self {
	w.t.Helper()
	self, err := w.Spawn(w.t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return agent }})
	if err != nil {
		w.t.Fatal(err)
	}
	return self
}

// delegate has Eddy delegate a task to Jules.
func (w *world) delegate(ctx context.Context, opts ...codons.DelegateOption) (p.InformResult, error) {
	return codons.Delegate(ctx, w.eddy, "Jules", task(), opts...)
}

func (w *world) start(ctx context.Context, opts ...codons.DelegateOption) *codons.Delegated {
	w.t.Helper()
	d, err := codons.StartDelegation(ctx, w.eddy, "Jules", task(), opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// settled waits until nothing happens any more, and expects no conversation and
// as many handlers under way.
func (w *world) settled(working int) {
	w.t.Helper()
	synctest.Wait()
	if n := w.Counts(); n.Open != 0 || n.Working != working {
		w.t.Errorf("%d conversations and %d handlers under way, want 0 and %d", n.Open, n.Working, working)
	}
}

func task() p.TaskRequest { return p.TaskRequest{TaskType: "debug_code", Description: "fix it"} }

func result(s p.TaskStatus) p.InformResult { return p.InformResult{Status: s, Summary: string(s)} }

// asking is a partial result that asks for more.
func asking(what string) p.InformResult {
	return p.InformResult{Status: p.StatusPartial, Details: p.ContentOf(map[string]any{"request_for_user": what})}
}

// worker is an agent whose roles are functions. Without them it accepts and
// succeeds.
type worker struct {
	consider func(context.Context, codons.Task) codons.Decision
	perform  func(context.Context, codons.Task) (p.InformResult, error)
	max      int
}

func (w *worker) Describe() p.Capabilities {
	return p.Capabilities{
		Topics:  []string{"Debugging", "Unit Testing"},
		Actions: []p.Action{{Name: "EXECUTE_DELEGATED_CODING_TASK", Description: "does it"}},
	}
}

func (w *worker) MaxTasks() int { return w.max }

func (w *worker) ConsiderTask(ctx context.Context, t codons.Task) codons.Decision {
	if w.consider == nil {
		return codons.Accept()
	}
	return w.consider(ctx, t)
}

func (w *worker) PerformTask(ctx context.Context, t codons.Task) (p.InformResult, error) {
	if w.perform == nil {
		return result(p.StatusSuccess), nil
	}
	return w.perform(ctx, t)
}

// patient works until its context ends, and returns why it did.
func patient(ctx context.Context, _ codons.Task) (p.InformResult, error) {
	<-ctx.Done()
	return p.InformResult{}, context.Cause(ctx)
}

// puppet is a peer that speaks as the test wants, in raw messages.
type puppet struct {
	actors.Self
	t   testing.TB
	got chan *p.Message
}

func (w *world) puppet(id p.AgentID) *puppet {
	a := &puppet{t: w.t, got: make(chan *p.Message, 256)}
	a.Self = w.spawn(id, a)
	w.lawless.Store(true)
	return a
}

func (a *puppet) Describe() p.Capabilities { return p.Capabilities{} }

func (a *puppet) Receive(_ *actors.Context, m *p.Message) { a.got <- m }

// next returns the next message, which has that act.
func (a *puppet) next(act p.Performative) *p.Message {
	a.t.Helper()
	m := <-a.got
	if m.Performative() != act {
		a.t.Fatalf("got %s %+v, want %s", m.Performative(), m.Payload(), act)
	}
	return m
}

// silence expects that nothing more has come.
func (a *puppet) silence() {
	a.t.Helper()
	synctest.Wait()
	select {
	case m := <-a.got:
		a.t.Errorf("got %s %+v, want nothing", m.Performative(), m.Payload())
	default:
	}
}

// say sends a message of that content, and returns it.
func (a *puppet) say(e p.Envelope) *p.Message {
	a.t.Helper()
	stamp := a.Stamp()
	if e.ID == "" {
		e.ID = stamp.ID
	}
	e.Timestamp, e.Sender = stamp.Time, a.ID()
	m, err := p.New(e)
	if err != nil {
		a.t.Fatal(err)
	}
	a.send(m)
	return m
}

func (a *puppet) send(m *p.Message) {
	a.t.Helper()
	if err := a.Send(m); err != nil {
		a.t.Fatal(err)
	}
}

func (a *puppet) reply(m *p.Message, payload any) *p.Message {
	a.t.Helper()
	r, err := m.Reply(a.Stamp(), payload)
	if err != nil {
		a.t.Fatal(err)
	}
	a.send(r)
	return r
}

// network delivers messages, but for those that its filter takes.
type network struct {
	system *actors.System
	mu     sync.Mutex
	filter func(*p.Message) (taken bool)
	busy   atomic.Bool // every mailbox is full
	before func(*p.Message)
	full   func(*p.Message) bool // the receiver's mailbox is, for that message; set before anything is sent
}

func (n *network) intercept(f func(*p.Message) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.filter = f
}

func (n *network) Route(m *p.Message) error {
	if n.before != nil {
		n.before(m)
	}
	n.mu.Lock()
	taken := n.filter != nil && n.filter(m)
	n.mu.Unlock()
	if taken {
		return nil
	}
	if n.busy.Load() || n.full != nil && n.full(m) {
		return &p.Refusal{Code: p.CodeBusy, About: m.ID()}
	}
	return n.system.Deliver(m.Receiver(), m)
}

// lose has the network lose the first n messages of an act.
func (n *network) lose(act p.Performative, times int) {
	n.intercept(func(m *p.Message) bool {
		if m.Performative() != act || times == 0 {
			return false
		}
		times--
		return true
	})
}

// endOf expects err to be an EndError.
func endOf(t testing.TB, err error) *codons.EndError {
	t.Helper()
	var end *codons.EndError
	if !errors.As(err, &end) {
		t.Fatalf("got %v, want an EndError", err)
	}
	return end
}

// wantEnd expects err to be the end in that state with that code.
func wantEnd(t testing.TB, err error, state machine.State, code p.Code) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s: %s", state, code)
		return
	}
	if end := endOf(t, err); end.State != state || end.Refusal.Code != code || !errors.Is(err, code) {
		t.Errorf("got %v (%s), want %s: %s", err, end.State, state, code)
	}
}

// wantElapsed expects that much virtual time since start.
func wantElapsed(t testing.TB, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

func machineState(s string) machine.State { return machine.State(s) }
