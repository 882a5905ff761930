package admission

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// began collects the names of handlers in the order in which they begin.
type began struct {
	mu    sync.Mutex
	names []string
}

type handler struct {
	name string
	of   *began
}

func (h handler) Start() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.names = append(h.of.names, h.name)
}

func (b *began) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.names)
}

// busyGate returns a gate with two processors, on which two handlers compute, and a scheduler
// that is behind. Its probes are the test's.
func busyGate(t *testing.T) (*Gate, []*Ticket) {
	t.Helper()
	g := New(nil)
	g.procs, g.probing, g.behind = 2, true, true
	var under []*Ticket
	for range 2 {
		under = append(under, take(t, g, Request{Band: Kept}))
		if under[len(under)-1].Begin(handler{"computes", new(began)}) != 0 {
			t.Fatal("a handler does not begin on an idle processor")
		}
	}
	return g, under
}

func take(t *testing.T, g *Gate, r Request) *Ticket {
	t.Helper()
	ticket := new(Ticket)
	if busy := g.Take(ticket, r); busy != nil {
		t.Fatalf("%+v is refused: %+v", r, busy)
	}
	return ticket
}

// TestTurns queues handlers, and has one after the other begin.
func TestTurns(t *testing.T) {
	for name, test := range map[string]struct{ arrive, begin []string }{ // band, agent, asker
		"first come, first served":        {[]string{"5 a x", "5 a x"}, []string{"0", "1"}},
		"bands":                           {[]string{"7 a x", "5 a x", "4 a x", "6 a x"}, []string{"2", "1", "3", "0"}},
		"agents in turn":                  {[]string{"5 a x", "5 a x", "5 a x", "5 b x", "5 c x"}, []string{"0", "3", "4", "1", "2"}},
		"askers of an agent in turn":      {[]string{"5 a x", "5 a x", "5 a x", "5 a y"}, []string{"0", "3", "1", "2"}},
		"askers take the turns of agents": {[]string{"5 a x", "5 a x", "5 a y", "5 b x", "5 b x"}, []string{"0", "3", "2", "4", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, under := busyGate(t)
			b := new(began)
			tickets := map[string]*Ticket{}
			for i, of := range test.arrive {
				var r Request
				if _, err := fmt.Sscan(of, &r.Band, &r.Agent, &r.Asker); err != nil {
					t.Fatal(err)
				}
				n := fmt.Sprint(i)
				tickets[n] = take(t, g, r)
				if tickets[n].Begin(handler{n, b}) == 0 {
					t.Fatalf("%q begins at once", of)
				}
			}
			under[0].Return() // and the other one goes on
			for i := range test.begin {
				if got := b.all(); len(got) != i+1 {
					t.Fatalf("after %d have returned, %q have begun", i+1, got)
				}
				tickets[b.all()[i]].Return()
			}
			if got := b.all(); !slices.Equal(got, test.begin) {
				t.Errorf("began as %q, want %q", got, test.begin)
			}
		})
	}
}

// TestRoomIsKept has handlers of the first bands begin while others use the processors.
func TestRoomIsKept(t *testing.T) {
	g, _ := busyGate(t)
	b := new(began)
	for i, want := range []bool{true, true, false} {
		if got := take(t, g, Request{Band: Kept - 1}).Begin(handler{"urgent", b}) == 0; got != want {
			t.Errorf("urgent handler %d begins at once: %v, want %v", i, got, want)
		}
	}
	if take(t, g, Request{Band: Kept}).Begin(handler{"normal", b}) == 0 {
		t.Error("a normal handler begins")
	}
}

// TestRoomForTheFirstBehindOthers has an urgent handler begin although others are queued.
func TestRoomForTheFirstBehindOthers(t *testing.T) {
	g, _ := busyGate(t)
	b := new(began)
	take(t, g, Request{Band: Kept}).Begin(handler{"normal", b})
	take(t, g, Request{Band: 0}).Begin(handler{"urgent", b})
	if got := b.all(); !slices.Equal(got, []string{"urgent"}) {
		t.Errorf("began: %q", got)
	}
}

// TestRefusal refuses what would wait for longer than half of the time that it has.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, under := busyGate(t)
		b := new(began)
		var queued []*Ticket
		for range 20 {
			queued = append(queued, take(t, g, Request{Band: 5, Agent: "hot", Asker: "x"}))
			queued[len(queued)-1].Begin(handler{"", b})
		}
		for i := range 10 { // one begins each 10 ms
			synctestSleep(g, 10*time.Millisecond)
			append(under[:1:1], queued...)[i].Return()
		}
		for _, c := range []struct {
			r    Request
			left time.Duration
			want bool // taken on
		}{
			{Request{Band: 5, Agent: "hot", Asker: "x"}, 199 * time.Millisecond, false},
			{Request{Band: 5, Agent: "hot", Asker: "x"}, 201 * time.Millisecond, true},
			{Request{Band: 5, Agent: "hot", Asker: "new"}, 50 * time.Millisecond, true}, // it is the next but two
			{Request{Band: 5, Agent: "quiet", Asker: "x"}, 50 * time.Millisecond, true},
			{Request{Band: 6, Agent: "quiet", Asker: "x"}, 199 * time.Millisecond, false}, // behind all of band 5
			{Request{Band: 4, Agent: "hot", Asker: "x"}, time.Millisecond, true},
		} {
			c.r.Deadline = time.Now().Add(c.left)
			ticket := new(Ticket)
			busy := g.Take(ticket, c.r)
			if got := busy == nil; got != c.want {
				t.Errorf("%+v with %v left is taken on: %v, want %v (%+v)", c.r, c.left, got, c.want, busy)
			}
			if busy != nil && (busy.Wait != 100*time.Millisecond || busy.Again <= busy.Wait || busy.Again > time.Second) {
				t.Errorf("refused with %+v", busy)
			}
			ticket.Release()
		}
		if c := g.Counts(); c.Refused != 2 || !c.Refusing || c.Waiting != 10 || c.UnderWay != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// synctestSleep lets time pass without a probe.
func synctestSleep(g *Gate, d time.Duration) {
	g.mu.Lock()
	if g.timer != nil {
		g.timer.Stop()
	}
	g.mu.Unlock()
	time.Sleep(d)
}

// TestLongestWait refuses a request without a deadline.
func TestLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := busyGate(t)
		take(t, g, Request{Band: 5}).Begin(handler{"", new(began)})
		synctestSleep(g, 4*MaxWait+4) // nothing begins, so the next one may wait for a quarter of this
		if busy := g.Take(new(Ticket), Request{Band: 5}); busy == nil || busy.Wait <= MaxWait {
			t.Errorf("refusal: %+v", busy)
		}
	})
}

// TestBudget gives the gate the results of probes.
func TestBudget(t *testing.T) {
	g := New(nil)
	g.procs, g.budget = 2, 4
	for i, c := range []struct {
		used, runnable, budget int
		delay                  time.Duration
		behind                 bool
	}{
		{4, 9, 8, 0, false},
		{8, 9, 16, soon, false},
		{16, 9, 8, soon + 1, false},
		{8, 9, 4, late, false},
		{4, 9, 2, late + 1, true},
		{0, 1, 2, late + 1, false}, // the processors are busy with other processes
		{2, 0, 4, 0, false},
		{3, 0, 4, 0, false},
		{0, 0, 4, 0, false},
	} {
		g.used = c.used
		g.mu.Lock()
		g.probed(time.Now(), c.delay, c.runnable)
		if g.budget != c.budget || g.behind != c.behind || g.used != 0 {
			t.Errorf("probe %d: %+v: budget %d, behind %v, used %d", i, c, g.budget, g.behind, g.used)
		}
	}
	for range 20 {
		g.used = g.budget
		g.mu.Lock()
		g.probed(time.Now(), 0, 0)
	}
	if g.budget != maxBudget {
		t.Errorf("budget %d", g.budget)
	}
}

// TestHandlersThatWait has many handlers that do not return begin, in a few probes.
func TestHandlersThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(nil)
		b := new(began)
		for range 10_000 {
			take(t, g, Request{Band: 5, Agent: "a", Asker: "x"}).Begin(handler{"", b})
		}
		if n := g.Counts().Waiting; n == 0 {
			t.Error("all begin at once")
		}
		time.Sleep(time.Second)
		if c := g.Counts(); c.Waiting != 0 || c.UnderWay != 10_000 || g.probing {
			t.Errorf("%+v, probing: %v", c, g.probing)
		}
	})
}

// TestHandlersThatWaitForOthers has one handler begin when none has returned for some time, while
// the scheduler is behind, though all of them compute. Until then only those begin that wait.
func TestHandlersThatWaitForOthers(t *testing.T) {
	g, under := busyGate(t)
	g.setCostLocked("computes", time.Hour)
	g.setCostLocked("waits", 0)
	b := new(began)
	for _, name := range []string{"computes", "computes", "computes", "waits"} {
		take(t, g, Request{Band: 5, Agent: name}).Begin(handler{name, b})
	}
	now := time.Now()
	probe := func(after time.Duration, want ...string) {
		t.Helper()
		now = now.Add(after)
		g.mu.Lock()
		g.probed(now, late+1, 2)
		if got := b.all(); !slices.Equal(got, want) {
			t.Errorf("have begun: %v, want %v", got, want)
		}
	}
	g.returned = now
	probe(stuck-1, "waits")
	probe(1, "waits", "computes")
	probe(stuck-1, "waits", "computes")
	probe(1, "waits", "computes", "computes")
	under[0].Return() // four others are under way
	now = time.Now()
	probe(stuck/2, "waits", "computes", "computes")
	probe(stuck, "waits", "computes", "computes", "computes")
}

// TestCosts begins handlers by their processor time, while the scheduler is behind.
func TestCosts(t *testing.T) {
	for name, c := range map[string]struct {
		cost, since time.Duration
		begin       int
	}{
		"they wait":                       {20 * time.Microsecond, 10 * time.Millisecond, 1000}, // 20 ms of two processors
		"the last probe was long ago":     {100 * time.Microsecond, time.Hour, 800},
		"they compute":                    {computes + 1, time.Hour, 1},
		"they compute a little":           {computes, 5 * time.Millisecond, 10},
		"their cost is not known":         {0, time.Hour, 1},
		"they need less than can be read": {1, time.Millisecond, 2000},
	} {
		synctest.Test(t, func(t *testing.T) { // the time stands still
			g, _ := busyGate(t)
			b, now := new(began), time.Now()
			for range 2000 {
				take(t, g, Request{Band: 5, Agent: "a"}).Begin(handler{"", b})
			}
			if c.cost > 0 {
				g.setCostLocked("a", c.cost)
			}
			g.mu.Lock()
			g.lastProbe = now
			g.probed(now.Add(c.since), late+1, 3)
			if got := len(b.all()); got != c.begin {
				t.Errorf("%s: %d begin, want %d", name, got, c.begin)
			}
		})
	}
}

// TestLook finds what Take would refuse, takes nothing and counts nothing.
func TestLook(t *testing.T) {
	g, _ := busyGate(t)
	take(t, g, Request{Band: 5}).Begin(handler{"", new(began)})
	r := Request{Band: 5, Deadline: time.Now().Add(-time.Second)}
	if g.Look(r) == 0 || g.Look(Request{Band: 5, Deadline: time.Now().Add(time.Hour)}) != 0 {
		t.Error("wrong")
	}
	if c := g.Counts(); c.Refused != 0 || g.bands[5].expected != 1 {
		t.Errorf("%+v, %d expected", c, g.bands[5].expected)
	}
	var none Ticket
	none.Release()
}

// TestChanges watches a gate that begins and ends to refuse.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := make(chan Counts, 10)
		g := New(func(c Counts) { changes <- c })
		g.procs, g.behind, g.probing = 0, true, true
		take(t, g, Request{Band: 5}).Begin(handler{"", new(began)})
		g.mu.Lock()
		g.each = 2 * MaxWait
		g.mu.Unlock()
		for range 3 {
			if g.Take(new(Ticket), Request{Band: 6}) == nil {
				t.Error("not refused")
			}
		}
		if c := <-changes; !c.Refusing || c.Refused != 1 {
			t.Errorf("%+v", c)
		}
		g.mu.Lock()
		g.armLocked(probeEvery)
		g.mu.Unlock()
		if c := <-changes; c.Refusing || c.Refused < 3 {
			t.Errorf("%+v", c)
		}
		if len(changes) > 0 {
			t.Errorf("one more: %+v", <-changes)
		}
	})
}

// TestSlowProbesEnd queues handlers while probes only wait for the end of a refusal.
func TestSlowProbesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(nil)
		g.Refuse(time.Second)
		time.Sleep(calm / 4) // the probes are slow by now
		b := new(began)
		for range 100 {
			take(t, g, Request{Band: 5}).Begin(handler{"", b})
		}
		time.Sleep(calm / 20)
		if n := len(b.all()); n != 100 {
			t.Errorf("%d have begun", n)
		}
		time.Sleep(2 * calm)
		if g.Counts().Refusing || g.probing {
			t.Errorf("%+v, probing: %v", g.Counts(), g.probing)
		}
	})
}

// TestLeave takes handlers out of the queue. One that has begun does not take a later one of its
// ticket with it.
func TestLeave(t *testing.T) {
	g, under := busyGate(t)
	b := new(began)
	first, second := take(t, g, Request{Band: 5, Agent: "a"}), take(t, g, Request{Band: 5, Agent: "b"})
	one, two := first.Begin(handler{"first", b}), second.Begin(handler{"second", b})
	first.Release() // does nothing while the handler is queued
	if !first.Leave(one) || first.Leave(one) {
		t.Error("it does not leave once")
	}
	under[0].Return()
	if got := b.all(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("began: %q", got)
	}
	if second.Leave(two) {
		t.Error("it leaves after it has begun")
	}
	take(t, g, Request{Band: 5, Agent: "c"}).Begin(handler{"third", b})
	second.Return()
	again := second.Begin(handler{"again", b})
	if second.Leave(two) || !second.Leave(again) {
		t.Error("a handler leaves in the turn of another one")
	}
}

// TestNothingIsLeft does all that can be done with tickets, from several goroutines, and looks at
// what the gate keeps.
func TestNothingIsLeft(t *testing.T) {
	g := New(nil)
	g.procs = 2
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 500 {
				ticket := new(Ticket)
				r := Request{
					Band: random.IntN(Bands), Agent: fmt.Sprint(random.IntN(3)), Asker: fmt.Sprint(random.IntN(3)),
					Deadline: time.Now().Add(time.Minute),
				}
				if g.Take(ticket, r) != nil {
					continue
				}
				for range random.IntN(3) {
					done := make(starter)
					if turn := ticket.Begin(done); turn != 0 && random.IntN(3) == 0 && ticket.Leave(turn) {
						continue
					}
					<-done
					ticket.Return()
				}
				ticket.Release()
				ticket.Release()
			}
		})
	}
	all.Wait()
	if c := g.Counts(); c.UnderWay != 0 || c.Waiting != 0 {
		t.Errorf("%+v", c)
	}
	for i := range g.bands {
		if b := &g.bands[i]; b.expected != 0 || b.queued != 0 || b.busy != 0 || len(b.turn) != 0 {
			t.Errorf("band %d: %+v", i, b)
		}
	}
}

type starter chan struct{}

func (s starter) Start() { close(s) }

// BenchmarkTicket is what a handler costs that begins at once.
func BenchmarkTicket(b *testing.B) {
	g := New(nil)
	s := handler{"", new(began)}
	b.ReportAllocs()
	for b.Loop() {
		var t Ticket
		s.of.names = nil
		_ = g.Take(&t, Request{Band: 5, Agent: "a", Asker: "x"})
		t.Begin(s)
		t.Return()
		t.Release()
	}
}
