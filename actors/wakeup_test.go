package actors

import (
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// yieldingDispatcher is a dispatcher that lets other goroutines run at each call by a
// mailbox: between marking itself as running and being scheduled, before it serves, and
// before it yields.
type yieldingDispatcher struct{ *Pool }

func (d yieldingDispatcher) Schedule(fn func()) {
	yieldRandomly()
	d.Pool.Schedule(func() {
		yieldRandomly()
		fn()
	})
	yieldRandomly()
}

func (d yieldingDispatcher) ScheduleFirst(fn func()) {
	yieldRandomly()
	d.Pool.ScheduleFirst(func() {
		yieldRandomly()
		fn()
	})
	yieldRandomly()
}

func (d yieldingDispatcher) Throughput() int { yieldRandomly(); return d.Pool.Throughput() }

func (d yieldingDispatcher) waiting() bool { yieldRandomly(); return d.Pool.waiting() }

func yieldRandomly() {
	for range rand.IntN(3) {
		goruntime.Gosched()
	}
}

// randomInvoker is an invoker that posts, blocks, panics or ends its goroutine.
type randomInvoker struct {
	plan    *wakeupTest
	handled atomic.Int64
	failed  atomic.Int64
	systems atomic.Int64
}

func (s *randomInvoker) InvokeUserMessage(m any) {
	s.handled.Add(1)
	switch n := m.(*note); {
	case n.seq%97 == 0:
		time.Sleep(3 * DefaultStall) // long enough for its worker to count as stuck
	case n.seq%61 == 0:
		panic(errBroken)
	case n.seq%53 == 0:
		goruntime.Goexit()
	case n.seq%5 == 0:
		s.plan.post(n.seq*7, &note{priority: n.priority, seq: 1})
	}
}

func (s *randomInvoker) InvokeSystemMessage(any)  { s.systems.Add(1) }
func (s *randomInvoker) EscalateFailure(_, _ any) { s.failed.Add(1) }

// wakeupTest is one run of producers and mailboxes on a pool.
type wakeupTest struct {
	mailboxes []*Mailbox
	invokers  []*randomInvoker
	posted    atomic.Int64
	refused   atomic.Int64
	systems   atomic.Int64
}

func newWakeupTest(r *rand.Rand, pool *Pool) *wakeupTest {
	plan := &wakeupTest{}
	produce := MailboxProducer(MailboxOptions{Capacity: 1 + r.IntN(64), OnRefuse: func(any, Reason) { plan.refused.Add(1) }})
	for range 1 + r.IntN(6) {
		m, s := produce().(*Mailbox), &randomInvoker{plan: plan}
		m.RegisterHandlers(s, yieldingDispatcher{pool})
		plan.mailboxes, plan.invokers = append(plan.mailboxes, m), append(plan.invokers, s)
	}
	return plan
}

func (p *wakeupTest) post(to int, n *note) {
	p.posted.Add(1)
	p.mailboxes[to%len(p.mailboxes)].PostUserMessage(n)
}

// produce posts messages, system messages, and suspends and resumes the mailboxes.
func (p *wakeupTest) produce(r *rand.Rand) {
	for seq := range 100 {
		m := r.IntN(len(p.mailboxes))
		switch r.IntN(12) {
		case 0:
			p.mailboxes[m].PostSystemMessage(&actor.SuspendMailbox{})
			yieldRandomly()
			p.mailboxes[m].PostSystemMessage(&actor.ResumeMailbox{})
		case 1:
			p.systems.Add(1)
			p.mailboxes[m].PostSystemMessage(&actor.Watch{})
		}
		p.post(m, &note{priority: performatives.Low + performatives.Priority(r.IntN(int(performatives.Bands))), seq: seq + r.IntN(100)})
		if r.IntN(30) == 0 {
			time.Sleep(time.Duration(r.IntN(int(2 * DefaultStall)))) // long enough for the workers to become idle
		}
	}
}

// check fails the test if messages or tasks are left after all goroutines are blocked.
func (p *wakeupTest) check(t *testing.T, seed uint64, pool *Pool) {
	var handled, systems int64
	for i, m := range p.mailboxes {
		handled += p.invokers[i].handled.Load()
		systems += p.invokers[i].systems.Load()
		if n, w := m.UserMessageCount(), m.state.Load(); n != 0 || w&stateRunning != 0 || runnable(w) {
			t.Errorf("seed %d: mailbox %d is idle with %d messages, state %b", seed, i, n, w)
		}
	}
	if got, want := handled+p.refused.Load(), p.posted.Load(); got != want {
		t.Errorf("seed %d: %d of %d messages were handled or refused", seed, got, want)
	}
	if want := p.systems.Load(); systems != want {
		t.Errorf("seed %d: %d of %d system messages were handled", seed, systems, want)
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.queue.n != 0 || pool.express.n != 0 || pool.stuck != 0 || pool.waking || len(pool.idle) != len(pool.workers) {
		t.Errorf("seed %d: the idle pool has %d tasks, %d stuck, %d of %d workers idle, waking %t",
			seed, pool.queue.n+pool.express.n, pool.stuck, len(pool.idle), len(pool.workers), pool.waking)
	}
}

// TestNoWakeupIsLost looks for lost wakeups between a mailbox, its producers and the
// pool. In a bubble, a message that is left when all goroutines are blocked is detected
// at once.
func TestNoWakeupIsLost(t *testing.T) {
	runs := 300
	if testing.Short() {
		runs = 30
	}
	for range runs {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) { runWakeups(t, seed) })
		if t.Failed() {
			return
		}
	}
}

func runWakeups(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	pool := NewPool(PoolOptions{Workers: 1 + r.IntN(3), Idle: 1 + r.IntN(3), Throughput: 1 + r.IntN(4)})
	plan := newWakeupTest(r, pool)
	var producers sync.WaitGroup
	for range 1 + r.IntN(4) {
		own := rand.New(rand.NewPCG(seed, r.Uint64()))
		producers.Go(func() { plan.produce(own) })
	}
	for _, m := range plan.mailboxes { // some have messages already
		yieldRandomly()
		m.Start()
	}
	producers.Wait()
	time.Sleep(time.Minute)
	synctest.Wait()
	plan.check(t, seed, pool)
	closePool(t, pool)
}

// TestLastMessageIsServed posts a few messages at about the time when the mailbox becomes
// idle. The next message would repair a lost wakeup, so the test sends none until all
// goroutines are blocked.
func TestLastMessageIsServed(t *testing.T) {
	rounds := 50_000
	if racetest.Enabled {
		rounds = 10_000
	}
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(PoolOptions{Workers: 2, Throughput: 2})
		s := new(randomInvoker)
		m := NewMailbox(MailboxOptions{})
		m.RegisterHandlers(s, pool)
		m.Start()
		var posted int64
		for round := range rounds {
			posted += postAtOnce(m, 3)
			synctest.Wait()
			if got := s.handled.Load() + s.systems.Load(); got != posted {
				t.Errorf("round %d: %d of %d messages were served, state %b", round, got, posted, m.state.Load())
				break
			}
		}
		m.Close() // wakes the mailbox, so that a failed test ends too
		closePool(t, pool)
	})
}

// postAtOnce posts a message from each of the given number of goroutines, and returns the
// number.
func postAtOnce(m *Mailbox, producers int) int64 {
	for range producers {
		band := performatives.Low + performatives.Priority(rand.IntN(2))
		system, spin := rand.IntN(4) == 0, rand.IntN(300)
		go func() {
			for range spin {
				_ = m.state.Load()
			}
			if system {
				m.PostSystemMessage(&actor.Watch{})
				return
			}
			m.PostUserMessage(&note{priority: band, seq: 1})
		}()
	}
	return int64(producers)
}
