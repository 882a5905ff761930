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

	"github.com/ribosome-agents/ribosome/performatives"
)

// shaky is a dispatcher that lets others run first at every place where a mailbox
// calls it: between claiming to run and being scheduled, before it serves and
// before it gives way.
type shaky struct{ *Pool }

func (d shaky) Schedule(fn func()) {
	shake()
	d.Pool.Schedule(func() {
		shake()
		fn()
	})
	shake()
}

func (d shaky) ScheduleFirst(fn func()) {
	shake()
	d.Pool.ScheduleFirst(func() {
		shake()
		fn()
	})
	shake()
}

func (d shaky) Throughput() int { shake(); return d.Pool.Throughput() }

func (d shaky) waiting() bool { shake(); return d.Pool.waiting() }

func shake() {
	for range rand.IntN(3) {
		goruntime.Gosched()
	}
}

// sleeper is what a mailbox serves: it posts, blocks, panics and ends its goroutine.
type sleeper struct {
	plan    *wakeupPlan
	handled atomic.Int64
	failed  atomic.Int64
	systems atomic.Int64
}

func (s *sleeper) InvokeUserMessage(m any) {
	s.handled.Add(1)
	switch n := m.(*note); {
	case n.seq%97 == 0:
		time.Sleep(3 * DefaultStall) // its worker counts as stuck
	case n.seq%61 == 0:
		panic(errBroken)
	case n.seq%53 == 0:
		goruntime.Goexit()
	case n.seq%5 == 0:
		s.plan.post(n.seq*7, &note{priority: n.priority, seq: 1})
	}
}

func (s *sleeper) InvokeSystemMessage(any)  { s.systems.Add(1) }
func (s *sleeper) EscalateFailure(_, _ any) { s.failed.Add(1) }

// wakeupPlan is one run of producers and mailboxes on a pool.
type wakeupPlan struct {
	mailboxes []*Mailbox
	sleepers  []*sleeper
	posted    atomic.Int64
	refused   atomic.Int64
	systems   atomic.Int64
}

func newWakeupPlan(r *rand.Rand, pool *Pool) *wakeupPlan {
	plan := &wakeupPlan{}
	produce := MailboxProducer(MailboxOptions{Capacity: 1 + r.IntN(64), OnRefuse: func(any, Reason) { plan.refused.Add(1) }})
	for range 1 + r.IntN(6) {
		m, s := produce().(*Mailbox), &sleeper{plan: plan}
		m.RegisterHandlers(s, shaky{pool})
		plan.mailboxes, plan.sleepers = append(plan.mailboxes, m), append(plan.sleepers, s)
	}
	return plan
}

func (p *wakeupPlan) post(to int, n *note) {
	p.posted.Add(1)
	p.mailboxes[to%len(p.mailboxes)].PostUserMessage(n)
}

// produce posts messages, and has the engine suspend and resume the mailboxes and
// send its own.
func (p *wakeupPlan) produce(r *rand.Rand) {
	for seq := range 100 {
		m := r.IntN(len(p.mailboxes))
		switch r.IntN(12) {
		case 0:
			p.mailboxes[m].PostSystemMessage(&actor.SuspendMailbox{})
			shake()
			p.mailboxes[m].PostSystemMessage(&actor.ResumeMailbox{})
		case 1:
			p.systems.Add(1)
			p.mailboxes[m].PostSystemMessage(&actor.Watch{})
		}
		p.post(m, &note{priority: performatives.Low + performatives.Priority(r.IntN(int(performatives.Bands))), seq: seq + r.IntN(100)})
		if r.IntN(30) == 0 {
			time.Sleep(time.Duration(r.IntN(int(2 * DefaultStall)))) // the workers go idle
		}
	}
}

// check looks, once nothing runs any more, for what has been left.
func (p *wakeupPlan) check(t *testing.T, seed uint64, pool *Pool) {
	var handled, systems int64
	for i, m := range p.mailboxes {
		handled += p.sleepers[i].handled.Load()
		systems += p.sleepers[i].systems.Load()
		if n, w := m.UserMessageCount(), m.word.Load(); n != 0 || w&wordRunning != 0 || runnable(w) {
			t.Errorf("seed %d: mailbox %d sleeps over %d messages, word %b", seed, i, n, w)
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
	if pool.queue.n != 0 || pool.express.n != 0 || pool.stuck != 0 || pool.summoned || len(pool.idle) != len(pool.workers) {
		t.Errorf("seed %d: the pool rests with %d tasks, %d stuck, %d of %d workers idle, summoned %t",
			seed, pool.queue.n+pool.express.n, pool.stuck, len(pool.idle), len(pool.workers), pool.summoned)
	}
}

// TestNothingIsLeftAsleep looks for wakeups that are lost between a mailbox, its
// producers and the pool: in a bubble, where all is still once nothing can run,
// whatever has been left is found at once.
func TestNothingIsLeftAsleep(t *testing.T) {
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
	plan := newWakeupPlan(r, pool)
	var producers sync.WaitGroup
	for range 1 + r.IntN(4) {
		own := rand.New(rand.NewPCG(seed, r.Uint64()))
		producers.Go(func() { plan.produce(own) })
	}
	for _, m := range plan.mailboxes { // some find messages already
		shake()
		m.Start()
	}
	producers.Wait()
	time.Sleep(time.Minute)
	synctest.Wait()
	plan.check(t, seed, pool)
	closePool(t, pool)
}

// TestTheLastMessageIsServed has producers post a message or two at about the time
// when the mailbox goes to rest. A wakeup that is lost then is made good by the next
// message, so there is none until all is still.
func TestTheLastMessageIsServed(t *testing.T) {
	rounds := 50_000
	if testing.Short() {
		rounds = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(PoolOptions{Workers: 2, Throughput: 2})
		s := new(sleeper)
		m := NewMailbox(MailboxOptions{})
		m.RegisterHandlers(s, pool)
		m.Start()
		var posted int64
		for round := range rounds {
			posted += postAtOnce(m, 3)
			synctest.Wait()
			if got := s.handled.Load() + s.systems.Load(); got != posted {
				t.Errorf("round %d: %d of %d messages were served, word %b", round, got, posted, m.word.Load())
				break
			}
		}
		m.Close() // which wakes it, so that a failed test ends, too
		closePool(t, pool)
	})
}

// postAtOnce posts a message from each of so many goroutines, and returns how many.
func postAtOnce(m *Mailbox, producers int) int64 {
	for range producers {
		band := performatives.Low + performatives.Priority(rand.IntN(2))
		system, spin := rand.IntN(4) == 0, rand.IntN(300)
		go func() {
			for range spin {
				_ = m.word.Load()
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
