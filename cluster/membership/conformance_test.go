package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is a network, real or simulated.
type world interface {
	// start starts a node; Options.Bind is an address that port returned, or empty.
	start(t *testing.T, o Options) member
	// partition cuts the groups off from one another, until there is none.
	partition(groups ...[]member)
	// wait waits until done.
	wait(t *testing.T, what string, done func() bool)
}

// member is a node of a world.
type member interface {
	Membership
	all() ([]Event, <-chan struct{})
	kill(t testing.TB)
	conflict(t *testing.T, w world) error // waits until joining fails, and returns why
}

// realWorld has sockets.
type realWorld struct{ cuts partition }

func (w *realWorld) start(t *testing.T, o Options) member {
	t.Helper()
	var self atomic.Value
	o.cut = w.cuts.cut(&self)
	n := start(t, o)
	self.Store(n.Self().Gossip)
	return n
}

func (w *realWorld) partition(groups ...[]member) {
	w.cuts.mu.Lock()
	defer w.cuts.mu.Unlock()
	w.cuts.side, w.cuts.on = map[string]int{}, len(groups) > 0
	for i, group := range groups {
		for _, m := range group {
			w.cuts.side[m.Self().Gossip] = i
		}
	}
}

func (w *realWorld) wait(t *testing.T, _ string, done func() bool) { t.Helper(); waitFor(t, done) }

func (n *node) all() ([]Event, <-chan struct{})      { return n.recorder.all() }
func (n *node) conflict(_ *testing.T, _ world) error { return n.tryJoin() }

// modelWorld is a simulation.
type modelWorld struct {
	*simulation
	started int
}

type modelNode struct {
	*Model
	*recorder
}

func (n *modelNode) kill(testing.TB) { n.net.Crash(n.Self().Gossip) }
func (n *modelNode) conflict(t *testing.T, w world) (err error) {
	w.wait(t, "a conflict", func() bool {
		_, err = n.Joined()
		return errors.Is(err, ErrNameTaken)
	})
	return err
}

func (w *modelWorld) start(t *testing.T, o Options) member {
	t.Helper()
	o.Profile = Local
	if o.Bind == "" {
		w.started++
		o.Bind = fmt.Sprintf("%s:%d", o.Name, w.started)
	}
	n := &modelNode{recorder: newRecorder()}
	o.Notify = n.notify
	m, err := w.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Model = m
	return n
}

func (w *modelWorld) partition(groups ...[]member) {
	sides := make([][]string, len(groups))
	for i, group := range groups {
		for _, m := range group {
			sides[i] = append(sides[i], m.Self().Gossip)
		}
	}
	w.Partition(sides...)
}

func (w *modelWorld) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	w.until(t, what, done)
}

// story is a scenario with what it has seen.
type story struct {
	t       *testing.T
	w       world
	members []member
	healed  map[member]map[string]bool
}

func (s *story) start(o Options) member {
	s.t.Helper()
	m := s.w.start(s.t, o)
	s.members = append(s.members, m)
	return m
}

// expect waits until the events of m about a name are those of want.
func (s *story) expect(m member, name, want string) {
	s.t.Helper()
	s.w.wait(s.t, fmt.Sprintf("%s about %s: %s", m.Self().Name, name, want), func() bool {
		events, _ := m.all()
		got := kinds(events, name)
		if !strings.HasPrefix(want, got) {
			s.t.Fatalf("events of %s about %s: %s, want %s", m.Self().Name, name, got, want)
		}
		return got == want
	})
}

// trio starts three nodes that know one another.
func (s *story) trio() (a, b, c member) {
	s.t.Helper()
	a = s.start(Options{Name: "a"})
	b = s.start(Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	c = s.start(Options{Name: "c", Seeds: []string{a.Self().Gossip}})
	for _, m := range []member{a, b, c} {
		for _, name := range []string{"a", "b", "c"} {
			if name != m.Self().Name {
				s.expect(m, name, "Joined 1")
			}
		}
	}
	return a, b, c
}

// seen returns the events of each member about each name.
func (s *story) seen() []string {
	var all []string
	for i, m := range s.members {
		events, _ := m.all()
		for _, name := range []string{"a", "b", "c", "d"} {
			seen := kinds(events, name)
			if s.healed[m][name] {
				seen = strings.Replace(seen, "Joined 1, Failed 1, Joined 1", "Joined 1", 1)
			}
			all = append(all, fmt.Sprintf("member %d (%s) about %s: %s", i, m.Self().Name, name, seen))
		}
	}
	return all
}

// sameSide says that m and the node of the name were on one side of a partition. When it heals,
// they may see each other fail and come back: the other side may still gossip that one of them is
// dead, and SWIM believes that until the dead one has contradicted.
func (s *story) sameSide(m member, name string) {
	if s.healed == nil {
		s.healed = map[member]map[string]bool{}
	}
	if s.healed[m] == nil {
		s.healed[m] = map[string]bool{}
	}
	s.healed[m][name] = true
}

// stories are told in the real network and in the simulated one.
var stories = map[string]func(s *story){
	"join and update": func(s *story) {
		a, b, c := s.trio()
		if err := a.Update(map[string]string{"x": "1"}, true); err != nil {
			s.t.Fatal(err)
		}
		s.expect(b, "a", "Joined 1, Updated 1")
		s.expect(c, "a", "Joined 1, Updated 1")
	},
	"leave": func(s *story) {
		a, b, c := s.trio()
		if err := b.Leave(context.Background()); err != nil {
			s.t.Fatal(err)
		}
		s.expect(a, "b", "Joined 1, Left 1")
		s.expect(c, "b", "Joined 1, Left 1")
		again := s.start(Options{Name: "b", Seeds: []string{a.Self().Gossip}})
		s.expect(a, "b", "Joined 1, Left 1, Joined 2")
		s.expect(c, "b", "Joined 1, Left 1, Joined 2")
		s.expect(again, "a", "Joined 1")
		s.expect(again, "c", "Joined 1")
	},
	"kill": func(s *story) {
		a, b, c := s.trio()
		b.kill(s.t)
		s.expect(a, "b", "Joined 1, Failed 1")
		s.expect(c, "b", "Joined 1, Failed 1")
	},
	"restart at the same address": func(s *story) {
		a, b, c := s.trio()
		address := b.Self().Gossip
		b.kill(s.t)
		again := s.start(Options{Name: "b", Bind: address, Seeds: []string{a.Self().Gossip}})
		s.expect(a, "b", "Joined 1, Failed 1, Joined 2")
		s.expect(c, "b", "Joined 1, Failed 1, Joined 2")
		s.expect(again, "a", "Joined 1")
		s.expect(again, "c", "Joined 1")
	},
	"restart at another address": func(s *story) {
		a, b, c := s.trio()
		b.kill(s.t)
		again := s.start(Options{Name: "b", Seeds: []string{c.Self().Gossip}})
		s.expect(a, "b", "Joined 1, Failed 1, Joined 2")
		s.expect(c, "b", "Joined 1, Failed 1, Joined 2")
		s.expect(again, "a", "Joined 1")
		s.expect(again, "c", "Joined 1")
	},
	"restart with a clock that went back": func(s *story) {
		a := s.start(Options{Name: "a"})
		b := s.start(Options{Name: "b", Epoch: 100, Seeds: []string{a.Self().Gossip}})
		s.expect(a, "b", "Joined 1")
		s.expect(b, "a", "Joined 1")
		b.kill(s.t)
		s.expect(a, "b", "Joined 1, Failed 1")
		again := s.start(Options{Name: "b", Epoch: 7, Seeds: []string{a.Self().Gossip}})
		s.expect(a, "b", "Joined 1, Failed 1, Joined 2")
		s.expect(again, "b", "Raised 1")
		s.expect(again, "a", "Joined 1")
		if got := again.Self().Epoch; got != 101 {
			s.t.Errorf("epoch %d, want 101", got)
		}
	},
	"a second node of the name": func(s *story) {
		a, b, c := s.trio()
		second := s.start(Options{Name: "b", Seeds: []string{a.Self().Gossip, b.Self().Gossip}})
		err := second.conflict(s.t, s.w)
		if !errors.Is(err, ErrNameTaken) || !strings.Contains(err.Error(), b.Self().Gossip) {
			s.t.Errorf("join: %v", err)
		}
		second.kill(s.t)
		if err := b.Update(nil, true); err != nil {
			s.t.Fatal(err)
		}
		s.expect(a, "b", "Joined 1, Updated 1")
		s.expect(c, "b", "Joined 1, Updated 1")
	},
	"partition": func(s *story) {
		a, b, c := s.trio()
		d := s.start(Options{Name: "d", Seeds: []string{a.Self().Gossip}})
		for _, m := range []member{a, b, c} {
			s.expect(m, "d", "Joined 1")
			s.expect(d, m.Self().Name, "Joined 1")
		}
		s.w.partition([]member{a, b}, []member{c, d})
		for _, m := range []member{a, b} {
			s.expect(m, "c", "Joined 1, Failed 1")
			s.expect(m, "d", "Joined 1, Failed 1")
			s.expect(c, m.Self().Name, "Joined 1, Failed 1")
			s.expect(d, m.Self().Name, "Joined 1, Failed 1")
		}
		for m, name := range map[member]string{a: "b", b: "a", c: "d", d: "c"} {
			s.expect(m, name, "Joined 1")
			s.sameSide(m, name)
		}
		s.w.partition()
		for _, m := range []member{a, b} {
			s.expect(m, "c", "Joined 1, Failed 1, Joined 1")
			s.expect(m, "d", "Joined 1, Failed 1, Joined 1")
			s.expect(c, m.Self().Name, "Joined 1, Failed 1, Joined 1")
			s.expect(d, m.Self().Name, "Joined 1, Failed 1, Joined 1")
		}
		for _, m := range s.members {
			s.w.wait(s.t, "all are members again", func() bool { return names(m.Members()) == "a b c d" })
		}
	},
	"broadcast, bulk and state": func(s *story) {
		sa, sb, sc := newState("A"), newState("B"), newState("C")
		a := s.start(Options{Name: "a", Gossiped: sa})
		b := s.start(Options{Name: "b", Gossiped: sb, Seeds: []string{a.Self().Gossip}})
		c := s.start(Options{Name: "c", Gossiped: sc, Seeds: []string{a.Self().Gossip}})
		for _, m := range []member{a, b, c} {
			for _, name := range []string{"a", "b", "c"} {
				if name != m.Self().Name {
					s.expect(m, name, "Joined 1")
				}
			}
		}
		has := func(st *state, list func(*state) []string, want string) {
			s.t.Helper()
			s.w.wait(s.t, want, func() bool {
				st.mu.Lock()
				defer st.mu.Unlock()
				return slices.Contains(list(st), want)
			})
		}
		received, merged := func(st *state) []string { return st.received }, func(st *state) []string { return st.merged }
		has(sb, merged, "A")
		has(sa, merged, "B")
		if err := b.Broadcast([]byte("hello")); err != nil {
			s.t.Fatal(err)
		}
		has(sa, received, "hello")
		has(sc, received, "hello")
		if err := b.SendBulk(a.Self().Incarnation, []byte("bulk")); err != nil {
			s.t.Fatal(err)
		}
		has(sa, received, "bulk")
		has(sc, merged, "B") // by a push/pull of any of both
	},
}

// TestTheModelBehavesAsMemberlist tells each story in both worlds and compares what each node has
// seen. Names are "a" to "d"; events of different names are in no determined order in either of
// them.
func TestTheModelBehavesAsMemberlist(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			real := story{t: t, w: &realWorld{}}
			tell(&real)
			want := real.seen()
			for seed := range uint64(10) {
				model := story{t: t, w: &modelWorld{simulation: newSimulation(seed, NetworkOptions{})}}
				tell(&model)
				if diff := cmp.Diff(want, model.seen()); diff != "" {
					t.Errorf("seed %d: -real +model\n%s", seed, diff)
				}
			}
		})
	}
}
