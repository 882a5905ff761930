package actors_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// mover is an agent that keeps the ids of its messages, and moves with them.
type mover struct {
	fails error // of Snapshot and Restore
	hold  chan struct{}
	held  chan struct{} // gets a value when a message is held
	got   []performatives.MessageID
}

func (*mover) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (m *mover) Receive(_ *actors.Context, in *performatives.Message) {
	if m.hold != nil {
		m.held <- struct{}{}
		<-m.hold
	}
	m.got = append(m.got, in.ID())
}

func (m *mover) Snapshot() ([]byte, error) { return fmt.Append(nil, len(m.got)), m.fails }

func (m *mover) Restore(state []byte) error {
	var n int
	if _, err := fmt.Sscan(string(state), &n); err != nil {
		return err
	}
	m.got = make([]performatives.MessageID, n)
	return m.fails
}

// held returns what the agent has got.
func held(t *testing.T, self actors.Self) (ids []performatives.MessageID) {
	t.Helper()
	if err := self.Do(t.Context(), func(a actors.Agent) { ids = slices.Clone(a.(*mover).got) }); err != nil {
		t.Fatal(err)
	}
	return ids
}

// An id that is reserved is taken, and messages for it wait, in their order.
func TestReservation(t *testing.T) {
	s := newSystem(t)
	v, err := s.Reserve("A")
	if err != nil {
		t.Fatal(err)
	}
	woken := 0
	v.OnMessage(func() { woken++ })
	if _, err := s.Reserve("a"); !errors.Is(err, actors.ErrExists) {
		t.Errorf("a second reservation: %v", err)
	}
	for _, id := range []performatives.MessageID{"1", "2", "3"} {
		if err := send(t, s, id, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, here := s.Lookup("A"); here || v.Len() != 3 || woken != 1 {
		t.Errorf("%t, %d messages, woken %d times", here, v.Len(), woken)
	}
	late := 0
	v.OnMessage(func() { late++ })
	if late != 1 {
		t.Error("OnMessage does not tell of messages that wait")
	}
	if _, err := v.Spawn(t.Context(), actors.Spec{ID: "B", New: func() actors.Agent { return &mover{} }}); err == nil {
		t.Error("another id was spawned")
	}
	failing := &mover{fails: errors.New("no")}
	if _, err := v.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return failing }, State: []byte("7")}); !errors.Is(err, failing.fails) {
		t.Errorf("an agent whose Restore fails: %v", err)
	}
	self, err := v.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return &mover{} }, State: []byte("2")})
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t, s, "4", "A"); err != nil {
		t.Fatal(err)
	}
	if got := held(t, self); !slices.Equal(got, []performatives.MessageID{"", "", "1", "2", "3", "4"}) {
		t.Errorf("got %q", got)
	}
	if n := s.Counts(); n.Agents != 1 || n.Remote != 0 {
		t.Errorf("counts %+v", n)
	}
	v.Release(func(*performatives.Message) error { t.Error("a message"); return nil }) // too late
	if _, here := s.Lookup("A"); !here {
		t.Error("the agent has gone")
	}
}

// A reservation has room for as many messages as a band, and passes them on when it is released.
func TestReservationIsReleased(t *testing.T) {
	changes := 0
	s, err := actors.NewSystem(actors.Options{Capacity: 2, OnChange: func(performatives.AgentID) { changes++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(t.Context()) }()
	v, err := s.Reserve("A")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[performatives.MessageID]error{"1": nil} {
		if err := send(t, s, id, "A"); !errors.Is(err, want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := send(t, s, "2", "A"); err != nil {
		t.Error(err)
	}
	if err := send(t, s, "3", "A"); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("a message too many: %v", err)
	}
	sender := &outbox{}
	if _, err := s.Register("s", sender); err != nil {
		t.Fatal(err)
	}
	var passed []performatives.MessageID
	v.Release(func(m *performatives.Message) error {
		if passed = append(passed, m.ID()); m.ID() == "1" {
			return nil
		}
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID()}
	})
	v.Release(nil)
	if changes != 1 {
		t.Errorf("%d changes, want one by the first release", changes)
	}
	if len(sender.got) != 1 {
		t.Errorf("for the message that was not taken, its sender gets %q", sender.got)
	}
	if !slices.Equal(passed, []performatives.MessageID{"1", "2"}) {
		t.Errorf("passed on: %q", passed)
	}
	if err := send(t, s, "4", "A"); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("after the release: %v", err)
	}
	if n := s.Counts(); n.Remote != 1 {
		t.Errorf("counts %+v", n)
	}
}

// What an agent that retires has not handled waits for its next run, with its state.
func TestRetire(t *testing.T) {
	s := newSystem(t)
	busy := &mover{hold: make(chan struct{}), held: make(chan struct{}, 9)}
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return busy }}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []performatives.MessageID{"1", "2", "3"} {
		if err := send(t, s, id, "A"); err != nil {
			t.Fatal(err)
		}
	}
	<-busy.held
	type retired struct {
		v     *actors.Reservation
		state []byte
		err   error
	}
	done := make(chan retired)
	go func() {
		v, state, err := s.Retire(t.Context(), "a")
		done <- retired{v, state, err}
	}()
	self, _ := s.Lookup("A")
	for !self.Retiring() { // it is to be before the agent goes on
		if _, _, err := s.Retire(t.Context(), "nobody"); !errors.Is(err, actors.ErrStopped) {
			t.Fatalf("an unknown agent: %v", err)
		}
	}
	if _, _, err := s.Retire(t.Context(), "A"); !errors.Is(err, actors.ErrStopped) {
		t.Errorf("twice: %v", err)
	}
	close(busy.hold)
	r := <-done
	if r.err != nil || string(r.state) != "1" || r.v.Len() != 2 {
		t.Fatalf("got %+v, %d messages", r, r.v.Len())
	}
	if err := send(t, s, "4", "A"); err != nil {
		t.Fatal(err)
	}
	next, err := r.v.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return &mover{} }, State: r.state})
	if err != nil {
		t.Fatal(err)
	}
	if got := held(t, next); !slices.Equal(got, []performatives.MessageID{"", "2", "3", "4"}) {
		t.Errorf("got %q", got)
	}
}

// An agent whose Snapshot fails continues without its state.
func TestRetireWithoutASnapshot(t *testing.T) {
	s := newSystem(t)
	for name, a := range map[string]actors.Agent{"fails": &mover{fails: errors.New("no")}, "has none": staticAgent{}} {
		if _, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return a }}); err != nil {
			t.Fatal(err)
		}
		v, state, err := s.Retire(t.Context(), "A")
		if err != nil || state != nil {
			t.Errorf("%s: state %q, %v", name, state, err)
		}
		v.Release(func(*performatives.Message) error { return nil })
	}
}

// An agent that has got a message since the last call of Quiet does not retire, and goes on.
func TestRetireQuiet(t *testing.T) {
	s := newSystem(t)
	got := make(chan performatives.MessageID, 9)
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent {
		return &receiver{func(m *performatives.Message) { got <- m.ID() }}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := send(t, s, performatives.MessageID(fmt.Sprint(i)), "A"); err != nil {
			t.Fatal(err)
		}
		if id := <-got; id != performatives.MessageID(fmt.Sprint(i)) {
			t.Errorf("got %s", id)
		}
		if _, _, err := s.RetireQuiet(t.Context(), "a"); !errors.Is(err, actors.ErrNotQuiet) {
			t.Fatalf("after a message: %v", err)
		}
	}
	looked := make(chan bool)
	for _, want := range []bool{false, true} {
		if err := self.Quiet(func(quiet bool) { looked <- quiet }); err != nil {
			t.Fatal(err)
		}
		if quiet := <-looked; quiet != want {
			t.Errorf("it is quiet: %t, want %t", quiet, want)
		}
	}
	v, _, err := s.RetireQuiet(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.RetireQuiet(t.Context(), "a"); !errors.Is(err, actors.ErrStopped) {
		t.Errorf("an agent that has retired: %v", err)
	}
	v.Release(func(*performatives.Message) error { return nil })
}

// However often an agent retires and begins again, it gets each message once, in order.
func TestRetireUnderLoad(t *testing.T) {
	s := newSystem(t)
	const messages = 20_000
	var got []performatives.MessageID // by one run at a time
	all, failed := make(chan struct{}), make(chan struct{})
	agent := func() actors.Agent {
		return &receiver{func(m *performatives.Message) {
			if got = append(got, m.ID()); len(got) == messages {
				close(all)
			}
		}}
	}
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: agent}); err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range messages {
			for {
				err := send(t, s, performatives.MessageID(fmt.Sprint(i)), "A")
				if err == nil {
					break
				}
				if !errors.Is(err, performatives.CodeBusy) {
					t.Errorf("message %d: %v", i, err)
					close(failed)
					return
				}
			}
		}
	})
	runs := 0
	for running := true; running; runs++ {
		v, _, err := s.Retire(t.Context(), "A")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Spawn(t.Context(), actors.Spec{ID: "A", New: agent}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-all:
			running = false
		case <-failed:
			running = false
		default:
		}
	}
	sending.Wait()
	for i, id := range got {
		if string(id) != fmt.Sprint(i) {
			t.Fatalf("message %d is %s, in %d runs", i, id, runs)
		}
	}
}

// Twice as many messages as a mailbox has room for may wait: those in the mailbox of the agent that
// retires, and those that come then.
func TestRetireWithFullMailboxes(t *testing.T) {
	const capacity = 4
	s, err := actors.NewSystem(actors.Options{Capacity: capacity})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(t.Context()) }()
	busy := &mover{hold: make(chan struct{}), held: make(chan struct{}, 99)}
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return busy }}); err != nil {
		t.Fatal(err)
	}
	if err := send(t, s, "0", "A"); err != nil {
		t.Fatal(err)
	}
	<-busy.held
	want := []performatives.MessageID{""}
	for i := range capacity {
		want = append(want, performatives.MessageID(fmt.Sprint("old", i)))
		if err := send(t, s, want[1+i], "A"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it does not wait for conversations
	type retired struct {
		v   *actors.Reservation
		err error
	}
	done := make(chan retired)
	go func() {
		v, _, err := s.Retire(ctx, "A")
		done <- retired{v, err}
	}()
	for {
		if _, here := s.Lookup("A"); !here {
			break // its place is taken by the reservation
		}
		goruntime.Gosched()
	}
	for i := range capacity {
		id := performatives.MessageID(fmt.Sprint("new", i))
		want = append(want, id)
		if err := send(t, s, id, "A"); err != nil {
			t.Fatal(err)
		}
	}
	close(busy.hold)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	slow := &mover{hold: make(chan struct{}), held: make(chan struct{}, 99)}
	self, err := r.v.Spawn(t.Context(), actors.Spec{ID: "A", New: func() actors.Agent { return slow }, State: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	close(slow.hold)
	for range 2 * capacity {
		<-slow.held
	}
	if got := held(t, self); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// receiver is an agent whose Receive is a function.
type receiver struct {
	receive func(*performatives.Message)
}

func (*receiver) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (r *receiver) Receive(_ *actors.Context, m *performatives.Message) { r.receive(m) }
