package actors_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
)

// The handlers of an agent count while they run, and those of others do not count for it.
func TestWorking(t *testing.T) {
	s := newSystem(t)
	one := spawnWithActions(t, s, actors.Spec{ID: "one"}, "act")
	other := spawnWithActions(t, s, actors.Spec{ID: "other"}, "act")
	finish := make(chan struct{})
	one.Work(func() { <-finish })
	one.Work(func() { <-finish })
	s.Work(func() { <-finish })
	if one.Working() != 2 || other.Working() != 0 || s.Counts().Working != 3 {
		t.Errorf("%d and %d of the agents, %d of the system", one.Working(), other.Working(), s.Counts().Working)
	}
	close(finish)
	if err := s.Stop(context.WithoutCancel(t.Context())); err != nil { // waits for them
		t.Error(err)
	}
	if one.Working() != 0 || s.Counts().Working != 0 {
		t.Errorf("%d of the agent, %d of the system after the end", one.Working(), s.Counts().Working)
	}
}
