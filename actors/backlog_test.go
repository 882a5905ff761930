package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

type blocked struct{ begun, release chan struct{} }

func (blocked) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (b blocked) Receive(*actors.Context, *performatives.Message) {
	select {
	case b.begun <- struct{}{}:
	default:
	}
	<-b.release
}

// The backlog of an agent that is busy is what waits in each band, and the time of the oldest.
func TestBacklog(t *testing.T) {
	s, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	b := blocked{make(chan struct{}, 1), make(chan struct{})}
	defer close(b.release)
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return b }})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	send := func(id performatives.MessageID, priority performatives.Priority, at time.Time) {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{ID: id, Performative: performatives.ActInform, Sender: "x", Receiver: "a", Timestamp: at, Priority: priority, Payload: performatives.Raw(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if n, oldest := self.Backlog(performatives.Low); n != 0 || !oldest.IsZero() {
		t.Errorf("before a message: %d, %v", n, oldest)
	}
	send("1", performatives.Normal, noon)
	<-b.begun
	send("2", performatives.Low, noon.Add(time.Second))
	send("3", performatives.Low, noon.Add(2*time.Second))
	if n, oldest := self.Backlog(performatives.Low); n != 2 || !oldest.Equal(noon.Add(time.Second)) {
		t.Errorf("two wait: %d, %v", n, oldest)
	}
	if n, oldest := self.Backlog(performatives.Normal); n != 0 || !oldest.IsZero() {
		t.Errorf("the one that is handled: %d, %v", n, oldest)
	}
}
