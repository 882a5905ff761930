package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
)

// swarm starts nodes of a simulation that join the first, and returns them when all know all.
func swarm(t testing.TB, w *simulation, size int, o Options) []*modelNode {
	t.Helper()
	all := make([]*modelNode, size)
	for i := range all {
		all[i] = &modelNode{recorder: newRecorder()}
		o.Name, o.Notify = fmt.Sprint("n", i), all[i].notify
		if i > 0 {
			o.Seeds = []string{"n0:7946"}
		}
		m, err := w.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		all[i].Model = m
	}
	w.until(t, "all know all", func() bool { return complete(all) })
	return all
}

func complete(all []*modelNode) bool {
	for _, n := range all {
		if len(n.Members()) != len(all) {
			return false
		}
	}
	return true
}

// without reports whether no other node has the name among its members.
func without(all []*modelNode, gone *modelNode) bool {
	for _, n := range all {
		if n == gone {
			continue
		}
		for _, m := range n.Members() {
			if m.Name == gone.options.Name {
				return false
			}
		}
	}
	return true
}

// chaos runs many faults, and returns all that was seen.
func chaos(t testing.TB, seed uint64) string {
	w := newSimulation(seed, NetworkOptions{Loss: 0.05, MaxDelay: 5 * time.Millisecond})
	all := swarm(t, w, 8, Options{})
	random := rand.New(rand.NewPCG(seed, 1))
	var trace strings.Builder
	for range 10 {
		n := random.IntN(len(all))
		address := all[n].options.Bind
		switch random.IntN(5) {
		case 0:
			w.Pause(address)
			w.run(time.Duration(random.IntN(4000)) * time.Millisecond)
			w.Resume(address)
		case 1:
			other := all[random.IntN(len(all))].options.Bind
			w.Cut(address, other, true)
			w.run(time.Second)
			w.Cut(address, other, false)
		case 2:
			w.Partition([]string{address}, []string{all[(n+1)%8].options.Bind, all[(n+2)%8].options.Bind, all[(n+3)%8].options.Bind})
			w.run(3 * time.Second)
			w.Heal()
		case 3:
			w.Crash(address)
			w.run(time.Duration(random.IntN(4000)) * time.Millisecond)
			m, err := w.Start(Options{Name: all[n].options.Name, Notify: all[n].notify, Seeds: []string{all[(n+1)%8].options.Bind}})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&trace, "restart of %s after %v\n", all[n].options.Name, kindsOfAll(all[n]))
			all[n] = &modelNode{Model: m, recorder: all[n].recorder}
			all[n].recorder.events = nil
		case 4:
			if err := all[n].Broadcast([]byte("delta")); err != nil {
				t.Fatal(err)
			}
			if err := all[n].Update(map[string]string{"x": strconv.Itoa(random.Int())}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.until(t, fmt.Sprintf("seed %d: all know all again", seed), func() bool {
		for _, n := range all {
			for i, m := range n.Members() {
				if len(n.Members()) != len(all) || !m.Equal(all[i].Self()) {
					return false
				}
			}
		}
		return true
	})
	for _, n := range all {
		fmt.Fprintln(&trace, n.options.Name, kindsOfAll(n))
	}
	fmt.Fprintln(&trace, w.now, w.Lost())
	return trace.String()
}

func kindsOfAll(n *modelNode) string {
	events, _ := n.recorder.all()
	return fmt.Sprint(events)
}

// After any faults all nodes know all others as they are, and the same seed gives the same course.
func TestAModelOfManyFaultsConverges(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if exhaustive.Enabled() {
		seeds = 1000
	}
	for seed := range seeds {
		first := chaos(t, seed)
		if seed < 5 {
			if second := chaos(t, seed); first != second {
				t.Fatalf("seed %d: two courses:\n%s\n%s", seed, first, second)
			}
		}
	}
}

func TestAPausedNodeFailsAndComesBack(t *testing.T) {
	t.Parallel()
	w := newSimulation(1, NetworkOptions{})
	all := swarm(t, w, 5, Options{})
	w.Pause("n4:7946")
	w.until(t, "the others see it fail", func() bool { return without(all, all[4]) })
	events, _ := all[4].recorder.all()
	if len(events) != 4 {
		t.Errorf("the paused node saw %v", events)
	}
	w.run(time.Minute)
	w.Resume("n4:7946")
	w.until(t, "all know all again", func() bool { return complete(all) })
	if events, _ := all[0].recorder.all(); kinds(events, "n4") != "Joined 1, Failed 1, Joined 1" {
		t.Errorf("n0 saw %s", kinds(events, "n4"))
	}
}

// After a long partition, memberlist has forgotten the other side. The seed is gone, too.
func TestALongPartitionOfModelsHeals(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		w := newSimulation(seed, NetworkOptions{})
		all := swarm(t, w, 7, Options{})
		w.Crash("n0:7946")
		all = all[1:]
		w.Partition([]string{"n1:7946", "n2:7946", "n6:7946"}, []string{"n3:7946", "n4:7946", "n5:7946"})
		w.run(time.Minute)
		for _, n := range all {
			if got := len(n.Members()); got != 3 {
				t.Errorf("seed %d: %s has %d members", seed, n.options.Name, got)
			}
		}
		w.Heal()
		w.until(t, "all know all again", func() bool { return complete(all) })
	}
}

// In one direction the network is broken between two nodes: others probe for them, and nobody
// fails.
func TestACutInOneDirectionIsBridged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		w := newSimulation(seed, NetworkOptions{})
		all := swarm(t, w, 5, Options{})
		w.Cut("n1:7946", "n2:7946", true)
		w.run(time.Minute)
		for _, n := range all {
			if events, _ := n.recorder.all(); len(events) != 4 {
				t.Errorf("seed %d: %s saw %v", seed, n.options.Name, events)
			}
		}
		if w.Lost() == 0 {
			t.Error("nothing was cut")
		}
	}
}

// The model detects a death about as fast as memberlist was measured to in the profile: the bounds
// follow from its intervals.
func TestTheModelDetectsFailuresInTheTimeOfTheProfile(t *testing.T) {
	t.Parallel()
	for _, profile := range []Profile{Local, LAN, WAN} {
		w := newSimulation(1, NetworkOptions{})
		all := swarm(t, w, 20, Options{Profile: profile})
		w.run(profile.timing().pushPullInterval)
		w.Crash("n7:7946")
		took := w.until(t, "the others see it", func() bool { return without(all, all[7]) })
		timing := profile.timing()
		least, most := timing.suspicion(20)
		if took < least || took > most+5*timing.probeInterval {
			t.Errorf("%s: %v, not between %v and %v", profile, took, least, most+5*timing.probeInterval)
		}
	}
}

// A death is seen as soon when nobody can confirm the suspicion: of two nodes, one of which has
// restarted, so that its earlier run counts as another member for a while, and of three nodes, two
// of which die at once.
func TestADeathThatNobodyConfirms(t *testing.T) {
	t.Parallel()
	for _, profile := range []Profile{Local, LAN, WAN} {
		timing := profile.timing()
		bound := 2*time.Duration(timing.suspicionMult)*timing.probeInterval + 5*timing.probeInterval
		for seed := range uint64(20) {
			w := newSimulation(seed, NetworkOptions{})
			all := swarm(t, w, 2, Options{Profile: profile})
			w.Crash("n1:7946")
			again := &modelNode{recorder: newRecorder()}
			m, err := w.Start(Options{Name: "n1", Seeds: []string{"n0:7946"}, Profile: profile, Notify: again.notify})
			if err != nil {
				t.Fatal(err)
			}
			again.Model = m
			w.until(t, "they know each other", func() bool { return complete([]*modelNode{all[0], again}) && all[0].recorder.count("n1", Joined) == 2 })
			w.Crash("n1:7946")
			if took := w.until(t, "the other one sees it", func() bool { return without(all[:1], again) }); took > bound {
				t.Errorf("%s, seed %d: %v after a restart, want at most %v", profile, seed, took, bound)
			}
			w = newSimulation(seed, NetworkOptions{})
			all = swarm(t, w, 3, Options{Profile: profile})
			w.Crash("n1:7946")
			w.Crash("n2:7946")
			if took := w.until(t, "the last one sees it", func() bool { return len(all[0].Members()) == 1 }); took > bound {
				t.Errorf("%s, seed %d: %v with two of three dead, want at most %v", profile, seed, took, bound)
			}
		}
	}
}

// What is not said about a network has a default, and what is said stands.
func TestDefaultsOfANetwork(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, one := range []struct{ least, most, setup, wantLeast, wantMost, wantSetup time.Duration }{
		{0, 0, 0, ms / 10, ms, 2 * ms},
		{3 * ms, 0, 0, 3 * ms, 3 * ms, 6 * ms},
		{0, 5 * ms, 0, ms / 10, 5 * ms, 10 * ms},
		{2 * ms, 5 * ms, ms, 2 * ms, 5 * ms, ms},
		{5 * ms, 2 * ms, ms, 5 * ms, 5 * ms, ms},
	} {
		o := NewNetwork(NetworkOptions{MinDelay: one.least, MaxDelay: one.most, SetupCost: one.setup}).options
		if o.MinDelay != one.wantLeast || o.MaxDelay != one.wantMost || o.SetupCost != one.wantSetup {
			t.Errorf("%+v: from %v to %v, and %v for a stream", one, o.MinDelay, o.MaxDelay, o.SetupCost)
		}
	}
}

// The model needs nothing but timers: time.AfterFunc in a bubble will do.
func TestTheModelRunsInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork(NetworkOptions{
			Rand: rand.New(rand.NewPCG(1, 2)), Now: time.Now,
			AfterFunc: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
		})
		a, b := newRecorder(), newRecorder()
		first, err := n.Start(Options{Name: "a", Notify: a.notify})
		if err != nil {
			t.Fatal(err)
		}
		second, err := n.Start(Options{Name: "b", Notify: b.notify, Seeds: []string{"a:7946"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := second.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if events, _ := a.all(); kinds(events, "b") != "Joined 1, Left 1" {
			t.Errorf("a saw %v", events)
		}
		if err := first.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	})
}

// Notify and Gossiped may call the network and its nodes.
func TestCallbacksMayCall(t *testing.T) {
	t.Parallel()
	w := newSimulation(1, NetworkOptions{})
	var a *Model
	done := false
	o := Options{Name: "a", Notify: func(e Event) {
		if e.Kind != Joined {
			return
		}
		if err := errors.Join(a.Update(map[string]string{"x": "1"}, false), a.SendBulk(e.Member.Incarnation, nil), a.Broadcast(nil)); err != nil {
			t.Error(err)
		}
		done = len(a.Members()) == 2
		w.Cut("x", "y", true)
	}}
	a, err := w.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(Options{Name: "b", Seeds: []string{"a:7946"}}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the event", func() bool { return done })
	if _, err := w.Start(Options{Name: "c", Bind: "a:7946"}); err == nil {
		t.Error("two nodes at one address")
	}
	to := cluster.Incarnation{Name: "nobody", Epoch: 1}
	long := map[string]string{"label": strings.Repeat("x", maxMeta)}
	_, unnamed := w.Start(Options{})
	_, labelled := w.Start(Options{Name: "d", Labels: long})
	if unnamed == nil {
		t.Error("a node without a name has started")
	}
	for name, test := range map[string]struct{ got, want error }{
		"a long broadcast":      {a.Broadcast(make([]byte, MaxBroadcast+1)), ErrTooLong},
		"the longest":           {a.Broadcast(make([]byte, MaxBroadcast)), nil},
		"long labels":           {labelled, ErrMetadata},
		"an update to them":     {a.Update(long, false), ErrMetadata},
		"long bulk":             {a.SendBulk(to, make([]byte, MaxBulk+1)), ErrTooLong},
		"the longest to nobody": {a.SendBulk(to, make([]byte, MaxBulk)), ErrUnknownMember},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: %v", name, test.got)
		}
	}
	_ = a.Stop(t.Context())
	for name, err := range map[string]error{"broadcast": a.Broadcast(nil), "bulk": a.SendBulk(to, nil), "update": a.Update(nil, false)} {
		if !errors.Is(err, ErrStopped) {
			t.Errorf("a %s after Stop: %v", name, err)
		}
	}
}

func TestModelsBroadcastReachesAll(t *testing.T) {
	t.Parallel()
	w := newSimulation(1, NetworkOptions{Loss: 0.2})
	logs := make([]*deltaLog, 10)
	nodes := make([]*Model, len(logs))
	for i := range logs {
		logs[i] = newDeltaLog()
		var err error
		nodes[i], err = w.Start(Options{Name: fmt.Sprint("n", i), Gossiped: logs[i], Seeds: []string{"n0:7946"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.run(10 * time.Second)
	for i := range 500 {
		d := strconv.Itoa(i)
		logs[i%10].Merge([]byte(d))
		if err := nodes[i%10].Broadcast([]byte(d)); err != nil {
			t.Fatal(err)
		}
	}
	w.until(t, "all have all", func() bool {
		for _, l := range logs {
			if l.size() < 500 {
				return false
			}
		}
		return true
	})
	for i, l := range logs {
		if l.twice() > 0 || len(l.received) == 0 {
			t.Errorf("node %d received %d, %d of them twice", i, len(l.received), l.twice())
		}
	}
}

// A model that has had nothing to gossip for a while passes a delta on as soon as one that always
// gossips: in rounds of the gossip, and not of the probes, which take four times as long.
func TestAQuietModelGossipsADelta(t *testing.T) {
	t.Parallel()
	const seeds = 20
	var took time.Duration
	for seed := range uint64(seeds) {
		w := newSimulation(seed, NetworkOptions{})
		logs := make([]*deltaLog, 10)
		nodes := make([]*Model, len(logs))
		for i := range logs {
			logs[i] = newDeltaLog()
			var err error
			nodes[i], err = w.Start(Options{Name: fmt.Sprint("n", i), Gossiped: logs[i], Seeds: []string{"n0:7946"}})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.run(30 * time.Second)
		logs[3].Merge([]byte("news"))
		if err := nodes[3].Broadcast([]byte("news")); err != nil {
			t.Fatal(err)
		}
		took += w.until(t, "all have it", func() bool {
			return !slices.ContainsFunc(logs, func(l *deltaLog) bool { return l.size() == 0 })
		})
	}
	if most := 2 * LAN.timing().gossipInterval; took/seeds > most {
		t.Errorf("it takes %v, want at most %v", took/seeds, most)
	}
}

// Where many packets are lost, members are often suspected: they contradict, and none fails.
// A network that loses all packets for a while separates nodes, and they find each other again.
func TestABurstOfLoss(t *testing.T) {
	t.Parallel()
	w := newSimulation(1, NetworkOptions{})
	all := swarm(t, w, 4, Options{})
	w.Lose(1)
	w.until(t, "a node misses another one", func() bool { return !complete(all) })
	w.Lose(0)
	w.until(t, "all know all again", func() bool { return complete(all) })
	w.run(time.Minute)
	if !complete(all) {
		t.Error("nodes are lost after the burst")
	}
}

func TestASuspectedModelContradicts(t *testing.T) {
	t.Parallel()
	w := newSimulation(1, NetworkOptions{Loss: 0.08})
	all := swarm(t, w, 5, Options{})
	w.run(2 * time.Minute)
	for _, n := range all {
		if events, _ := n.recorder.all(); len(events) != 4 {
			t.Errorf("%s saw %d events", n.options.Name, len(events))
		}
	}
}

// TestLeastSent: a packet has what was sent least often, and of that what is newest, as if all news
// were sorted.
func TestLeastSent(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 0))
	for n := range 30 {
		m := &Model{news: map[token]*news{}}
		all := make([]*news, n)
		for i := range all {
			all[i] = &news{transmits: dice.IntN(4), order: uint64(i)}
			all[i].token = token(i + 1)
			m.news[all[i].token] = all[i]
		}
		slices.SortFunc(all, func(a, b *news) int {
			return cmp.Or(cmp.Compare(a.transmits, b.transmits), cmp.Compare(b.order, a.order))
		})
		if got, want := m.leastSent(), all[:min(n, updatesPerPacket)]; !slices.Equal(got, want) {
			t.Errorf("of %d news: %v, want %v", n, got, want)
		}
	}
}
