package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// blocked is an agent that handles a message for each value of release.
type blocked struct{ begun, release chan struct{} }

func (blocked) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (b blocked) Receive(*actors.Context, *performatives.Message) {
	b.begun <- struct{}{}
	<-b.release
}

// inform sends a message to the agent a. Where it has not arrived when it was made, the clock of
// its sender is wrong.
func inform(t *testing.T, s *actors.System, priority performatives.Priority, made, arrived time.Time) {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.NewID(), Performative: performatives.ActInform, Sender: "x", Receiver: "a", Timestamp: made, Priority: priority, Payload: performatives.Raw(`{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !arrived.Equal(made) {
		m.Arrive(arrived)
	}
	if err := s.Send(m); err != nil {
		t.Fatal(err)
	}
}

// The backlog of an agent that is busy is what waits in each band, and the time of the oldest.
func TestBacklog(t *testing.T) {
	s, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	b := blocked{make(chan struct{}, 200), make(chan struct{})}
	defer close(b.release)
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return b }})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if n, oldest := self.Backlog(performatives.Low); n != 0 || !oldest.IsZero() {
		t.Errorf("before a message: %d, %v", n, oldest)
	}
	inform(t, s, performatives.Normal, noon, noon)
	<-b.begun
	inform(t, s, performatives.Low, noon.Add(time.Hour), noon.Add(time.Second)) // the clock of the sender is wrong
	inform(t, s, performatives.Low, noon.Add(2*time.Second), noon.Add(2*time.Second))
	if n, oldest := self.Backlog(performatives.Low); n != 2 || !oldest.Equal(noon.Add(time.Second)) {
		t.Errorf("two wait: %d, %v", n, oldest)
	}
	if n, oldest := self.Backlog(performatives.Normal); n != 0 || !oldest.IsZero() {
		t.Errorf("the one that is handled: %d, %v", n, oldest)
	}
}

// The backlog may be read while messages come and are handled.
func TestBacklogOfAWorkingAgent(t *testing.T) {
	const all = 3000
	s, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	b := blocked{make(chan struct{}, all), make(chan struct{})}
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return b }, Capacity: all})
	if err != nil {
		t.Fatal(err)
	}
	made, sent := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), 0
	for range all {
		inform(t, s, performatives.Normal, made, made)
		if sent++; sent == all/2 {
			close(b.release) // the agent handles many that it takes out together, then few
		}
		if n, oldest := self.Backlog(performatives.Normal); n > all || !oldest.IsZero() && !oldest.Equal(made) {
			t.Fatalf("%d wait, the oldest since %v", n, oldest)
		}
	}
	for range all {
		<-b.begun
	}
}

// What waits includes the messages that the agent's actor has taken out of the queue at once and
// not handled yet, across the parts of the queue.
func TestBacklogOfATakenQueue(t *testing.T) {
	const all = 100
	s, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	b := blocked{make(chan struct{}, all+1), make(chan struct{})}
	defer close(b.release)
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return b }, Capacity: 240}) // which gives back 30 places at a time: the 31st message is the last of a part
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	send := func(i int) {
		at := noon.Add(time.Duration(i) * time.Second)
		inform(t, s, performatives.Normal, at, at)
	}
	send(0)
	<-b.begun
	for i := range all {
		send(1 + i)
	}
	for handled := range all { // of those that were sent together
		b.release <- struct{}{}
		<-b.begun
		waiting, oldest := self.Backlog(performatives.Normal)
		left := all - 1 - handled
		if waiting < left || waiting > left+30 {
			t.Fatalf("%d wait, want %d", waiting, left)
		}
		first := time.Duration(all-waiting+1) * time.Second
		if waiting == 0 && !oldest.IsZero() || waiting > 0 && !oldest.Equal(noon.Add(first)) {
			t.Fatalf("%d wait, the oldest since %v, want %v", waiting, oldest, noon.Add(first))
		}
	}
	send(all + 1)
	if n, oldest := self.Backlog(performatives.Normal); n != 1 || !oldest.Equal(noon.Add((all+1)*time.Second)) {
		t.Errorf("after all: %d, %v", n, oldest)
	}
}
