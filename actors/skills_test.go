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

// able is an agent with actions.
type able []performatives.Action

func actions(names ...string) (a able) {
	for _, name := range names {
		a = append(a, performatives.Action{Name: name})
	}
	return a
}

// Describe returns the actions.
func (a able) Describe() performatives.Capabilities { return performatives.Capabilities{Actions: a} }

// Receive does nothing.
func (able) Receive(*actors.Context, *performatives.Message) {}

// Start fails for who has an action of that name.
func (a able) Start(*actors.Context) error {
	if len(a) > 0 && a[0].Name == "fail" {
		return errors.New("no")
	}
	return nil
}

func newAbleSystem(t *testing.T) *actors.System {
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

func spawnAble(t *testing.T, s *actors.System, spec actors.Spec, names ...string) actors.Self {
	t.Helper()
	spec.New = func() actors.Agent { return actions(names...) }
	self, err := s.Spawn(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// wantAble checks who has an action.
func wantAble(t *testing.T, s *actors.System, action string, from performatives.AgentID, want ...performatives.AgentID) {
	t.Helper()
	var got []performatives.AgentID
	for a := range s.Able(action, from) {
		got = append(got, a.ID())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q from %q on: %q, want %q", action, from, got, want)
	}
}

// Who can do what is known as soon as it is said, and as long as it is so.
func TestAble(t *testing.T) {
	s := newAbleSystem(t)
	b := spawnAble(t, s, actors.Spec{ID: "b"}, "send_invoice", "Send-Invoice", "list")
	spawnAble(t, s, actors.Spec{ID: "A"}, "SEND INVOICE")
	wantAble(t, s, "send_invoice", "", "A", "b")
	wantAble(t, s, "Send Invoice", "B", "b")
	wantAble(t, s, "send_invoice", "b\x00")
	wantAble(t, s, "nothing", "")

	hidden := spawnAble(t, s, actors.Spec{ID: "c", Hidden: true}, "list")
	wantAble(t, s, "list", "", "b")
	hidden.Announce(performatives.Capabilities{Actions: actions("list", "count")})
	wantAble(t, s, "list", "", "b", "c")
	wantAble(t, s, "count", "", "c")
	hidden.Announce(performatives.Capabilities{})
	wantAble(t, s, "list", "", "b")

	b.Announce(performatives.Capabilities{Actions: actions("count")})
	wantAble(t, s, "send_invoice", "", "A")
	wantAble(t, s, "count", "", "b")
	if err := s.StopAgent(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	wantAble(t, s, "count", "")
	b.Announce(performatives.Capabilities{Actions: actions("count")}) // too late
	wantAble(t, s, "count", "")

	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "d", New: func() actors.Agent { return actions("fail") }}); err == nil {
		t.Fatal("it has started")
	}
	wantAble(t, s, "fail", "")
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return actions("other") }}); !errors.Is(err, actors.ErrExists) {
		t.Fatal(err)
	}
	wantAble(t, s, "other", "")
	wantAble(t, s, "send invoice", "", "A")
}

// An agent that changes what it has said, without a word, is still forgotten as it stops.
func TestAbleThatChanges(t *testing.T) {
	s := newAbleSystem(t)
	own := actions("list")
	if _, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return own }}); err != nil {
		t.Fatal(err)
	}
	own[0].Name = "count"
	if err := s.StopAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantAble(t, s, "list", "")
}

// More than a page of them come, hidden ones between, each once.
func TestManyAble(t *testing.T) {
	s := newAbleSystem(t)
	var want []performatives.AgentID
	for i := range 100 {
		id := performatives.AgentID(fmt.Sprintf("%03d", i))
		spawnAble(t, s, actors.Spec{ID: id, Hidden: i%3 != 0}, "list")
		if i%3 == 0 {
			want = append(want, id)
		}
	}
	wantAble(t, s, "list", "", want...)
	for range s.Able("list", "") {
		break
	}
}

// Agents come, say what they can do, and go, all at once. In the end who can do what is
// what looking at each of them says.
func TestAbleAgrees(t *testing.T) {
	s := newAbleSystem(t)
	const parties, turns = 8, 60
	skills := []string{"dig", "Paint", "audit"}
	var all sync.WaitGroup
	for n := range parties {
		all.Go(func() {
			id := performatives.AgentID(fmt.Sprint("agent-", n))
			for i := range turns {
				self, err := s.Spawn(context.Background(), actors.Spec{ID: id, New: func() actors.Agent { return actions(skills[:(n+i)%4]...) }})
				if err != nil {
					t.Error(err)
					return
				}
				var two sync.WaitGroup
				two.Go(func() { self.Announce(performatives.Capabilities{Actions: actions(skills[i%3])}) })
				two.Go(func() { self.Announce(performatives.Capabilities{Actions: actions(skills[(i+1)%3:]...)}) })
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
	for _, skill := range skills {
		var want []performatives.AgentID
		for a := range s.Agents() {
			if _, ok := a.Describe().Action(skill); ok {
				want = append(want, a.ID())
			}
		}
		slices.Sort(want)
		wantAble(t, s, skill, "", want...)
	}
}
