package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// actionAgent is an agent with actions.
type actionAgent []performatives.Action

func actions(names ...string) (a actionAgent) {
	for _, name := range names {
		a = append(a, performatives.Action{Name: name})
	}
	return a
}

func (a actionAgent) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: a}
}

func (actionAgent) Receive(*actors.Context, *performatives.Message) {}

// Start fails when the agent has a certain action.
func (a actionAgent) Start(*actors.Context) error {
	if len(a) > 0 && a[0].Name == "fail" {
		return errors.New("no")
	}
	return nil
}

func newActionSystem(t *testing.T) *actors.System {
	t.Helper()
	s, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func spawnWithActions(t *testing.T, s *actors.System, spec actors.Spec, names ...string) actors.Self {
	t.Helper()
	spec.New = func() actors.Agent { return actions(names...) }
	self, err := s.Spawn(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// wantWithAction checks the agents that have an action.
func wantWithAction(t *testing.T, s *actors.System, action string, from performatives.AgentID, want ...performatives.AgentID) {
	t.Helper()
	var got []performatives.AgentID
	for a := range s.WithAction(action, from) {
		got = append(got, a.ID())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q from %q on: %q, want %q", action, from, got, want)
	}
}

// The index contains the announced actions of an agent from its announcement to its stop.
func TestWithAction(t *testing.T) {
	s := newActionSystem(t)
	b := spawnWithActions(t, s, actors.Spec{ID: "b"}, "send_invoice", "Send-Invoice", "list")
	spawnWithActions(t, s, actors.Spec{ID: "A"}, "SEND INVOICE")
	wantWithAction(t, s, "send_invoice", "", "A", "b")
	wantWithAction(t, s, "Send Invoice", "B", "b")
	wantWithAction(t, s, "send_invoice", "b\x00")
	wantWithAction(t, s, "nothing", "")

	hidden := spawnWithActions(t, s, actors.Spec{ID: "c", Hidden: true}, "list")
	wantWithAction(t, s, "list", "", "b")
	hidden.Announce(performatives.Capabilities{Actions: actions("list", "count")})
	wantWithAction(t, s, "list", "", "b", "c")
	wantWithAction(t, s, "count", "", "c")
	hidden.Announce(performatives.Capabilities{})
	wantWithAction(t, s, "list", "", "b")

	b.Announce(performatives.Capabilities{Actions: actions("count")})
	wantWithAction(t, s, "send_invoice", "", "A")
	wantWithAction(t, s, "count", "", "b")
	if err := s.StopAgent(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	wantWithAction(t, s, "count", "")
	b.Announce(performatives.Capabilities{Actions: actions("count")}) // ignored: the agent has stopped
	wantWithAction(t, s, "count", "")

	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "d", New: func() actors.Agent { return actions("fail") }}); err == nil {
		t.Fatal("it has started")
	}
	wantWithAction(t, s, "fail", "")
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return actions("other") }}); !errors.Is(err, actors.ErrExists) {
		t.Fatal(err)
	}
	wantWithAction(t, s, "other", "")
	wantWithAction(t, s, "send invoice", "", "A")
}

// An agent that modifies its announced slice is still removed from the index when it
// stops.
func TestWithActionAfterMutation(t *testing.T) {
	s := newActionSystem(t)
	own := actions("list")
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return own }}); err != nil {
		t.Fatal(err)
	}
	own[0].Name = "count"
	if err := s.StopAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantWithAction(t, s, "list", "")
}

// WithAction yields each visible agent once when there are several pages and hidden
// agents between.
func TestWithActionManyAgents(t *testing.T) {
	s := newActionSystem(t)
	var want []performatives.AgentID
	for i := range 100 {
		id := performatives.AgentID(fmt.Sprintf("%03d", i))
		spawnWithActions(t, s, actors.Spec{ID: id, Hidden: i%3 != 0}, "list")
		if i%3 == 0 {
			want = append(want, id)
		}
	}
	wantWithAction(t, s, "list", "", want...)
	for range s.WithAction("list", "") {
		break
	}
}

// Agents are spawned, announce and stop concurrently. Afterwards the index matches the
// agents' capabilities.
func TestWithActionConcurrently(t *testing.T) {
	s := newActionSystem(t)
	const parties, turns = 8, 60
	names := []string{"dig", "Paint", "audit"}
	var all sync.WaitGroup
	for n := range parties {
		all.Go(func() {
			id := performatives.AgentID(fmt.Sprint("agent-", n))
			for i := range turns {
				self, err := s.Spawn(context.Background(), actors.Spec{ID: id, New: func() actors.Agent { return actions(names[:(n+i)%4]...) }})
				if err != nil {
					t.Error(err)
					return
				}
				var two sync.WaitGroup
				two.Go(func() { self.Announce(performatives.Capabilities{Actions: actions(names[i%3])}) })
				two.Go(func() { self.Announce(performatives.Capabilities{Actions: actions(names[(i+1)%3:]...)}) })
				if i%2 == 0 {
					two.Wait()
				}
				if i < turns-1 {
					if err := s.StopAgent(context.Background(), id); err != nil {
						t.Error(err)
					}
				}
				two.Wait()
			}
		})
	}
	all.Wait()
	for _, name := range names {
		var want []performatives.AgentID
		for a := range s.Agents() {
			if _, ok := a.Describe().Action(name); ok {
				want = append(want, a.ID())
			}
		}
		slices.Sort(want)
		wantWithAction(t, s, name, "", want...)
	}
}
