package actors

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/internal/account"
	"github.com/ribosome-agents/ribosome/performatives"
)

// tracked is a message whose outcomes are counted.
type tracked struct {
	note
	panics bool
}

func (m *tracked) String() string {
	return fmt.Sprintf("message %d of sender %d, %v", m.seq, m.sender, m.priority)
}

// outcomeCounter counts the outcomes of tracked messages. Invariant: each message is
// handled once, refused once, or a dead letter once.
type outcomeCounter struct {
	account.Messages[*tracked]
	open   atomic.Int64
	closed chan struct{} // closed when every message has an outcome
}

func newOutcomeCounter(messages []*tracked) *outcomeCounter {
	l := &outcomeCounter{closed: make(chan struct{})}
	l.open.Store(int64(len(messages)))
	for _, m := range messages {
		l.Count(m, account.Accepted)
	}
	return l
}

// count adds one outcome of a message.
func (l *outcomeCounter) count(m any, o account.Outcome) {
	t, ok := actor.UnwrapEnvelopeMessage(m).(*tracked)
	if !ok {
		return
	}
	l.Count(t, o)
	if l.open.Add(-1) == 0 {
		close(l.closed)
	}
}

func (l *outcomeCounter) refuse(m any, _ Reason) { l.count(m, account.Refused) }

// watch counts the dead letters of the system.
func (l *outcomeCounter) watch(system *actor.ActorSystem) (stop func()) {
	subscription := system.EventStream.Subscribe(func(e any) {
		if d, ok := e.(*actor.DeadLetterEvent); ok {
			l.count(d.Message, account.Dead)
		}
	})
	return func() { system.EventStream.Unsubscribe(subscription) }
}

// errorer is implemented by testing.T and rapid.T.
type errorer interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// check fails the test for each message without exactly one outcome.
func (l *outcomeCounter) check(t errorer) {
	if wrong := l.Wrong(nil); len(wrong) > 0 {
		t.Fatalf("%d messages, first %s", len(wrong), wrong[0])
	}
}

// orderChecker checks that the messages of one sender in one band arrive in order.
type orderChecker struct {
	t    errorer
	last map[[2]int]int
}

func (o *orderChecker) check(m *tracked) {
	key := [2]int{m.sender, m.priority.Band()}
	if last, ok := o.last[key]; ok && m.seq <= last {
		o.t.Errorf("sender %d, %v: %d came after %d", m.sender, m.priority, m.seq, last)
	}
	o.last[key] = m.seq
}

// receive counts handled messages, and panics for messages that request it. The order
// check spans restarts, like the mailbox.
func (l *outcomeCounter) receive(t errorer) actor.ReceiveFunc {
	order := &orderChecker{t, map[[2]int]int{}}
	return func(c actor.Context) {
		if m, ok := c.Message().(*tracked); ok {
			order.check(m)
			l.count(m, account.Handled)
			if m.panics {
				panic(errBroken)
			}
		}
	}
}

// sendAll sends the messages of each sender from its own goroutine.
func sendAll(wg *sync.WaitGroup, senders [][]*tracked, send func(*tracked)) {
	for _, messages := range senders {
		wg.Go(func() {
			for i, m := range messages {
				send(m)
				if i%16 == 0 {
					goruntime.Gosched()
				}
			}
		})
	}
}

// With suspensions, restarts, refusals and the stop of the actor, each message has
// exactly one outcome, and the messages of one sender keep their order.
func TestMailboxAccountsForEveryMessage(t *testing.T) {
	system := newSystem()
	guardian := actor.WithGuardian(Supervision{MaxRestarts: 3, Backoff: Backoff{Min: 1, Max: 1}}.Strategy())
	rapid.Check(t, func(t *rapid.T) {
		var senders [][]*tracked
		var all []*tracked
		for s := range rapid.IntRange(1, 4).Draw(t, "senders") {
			plan := rapid.SliceOfN(rapid.IntRange(0, 79), 0, 120).Draw(t, "plan")
			messages := make([]*tracked, len(plan))
			for i, p := range plan {
				messages[i] = &tracked{
					note:   note{sender: s, seq: i, priority: performatives.Priority(p%4) - 1},
					panics: p/4 == 0 && i%3 == 0,
				}
			}
			senders, all = append(senders, messages), append(all, messages...)
		}
		events := rapid.SliceOfN(rapid.SampledFrom([]any{
			&actor.SuspendMailbox{}, &actor.ResumeMailbox{}, &actor.SuspendMailbox{}, &actor.ResumeMailbox{},
			&actor.Restart{}, &actor.Stop{},
			closeMailbox{},
		}), 0, 6).Draw(t, "events")
		accountForAll(t, system, guardian, rapid.IntRange(1, 64).Draw(t, "capacity"), senders, all, events)
	})
}

func accountForAll(
	t *rapid.T, system *actor.ActorSystem, guardian actor.PropsOption,
	capacity int, senders [][]*tracked, all []*tracked, events []any,
) {
	last := &tracked{} // has its outcome when the actor was told to stop
	l := newOutcomeCounter(append(all, last))
	defer l.watch(system)()
	pool := NewPool(PoolOptions{Workers: 2, Throughput: 7})
	pid := system.Root.Spawn(actor.PropsFromFunc(l.receive(t), guardian, actor.WithDispatcher(pool),
		actor.WithMailbox(MailboxProducer(MailboxOptions{Capacity: capacity, OnRefuse: l.refuse}))))
	process, _ := system.ProcessRegistry.Get(pid)
	var wg sync.WaitGroup
	sendAll(&wg, senders, func(m *tracked) {
		if m.seq%2 == 0 {
			system.Root.Send(pid, m)
		} else {
			process.SendUserMessage(pid, &actor.MessageEnvelope{Message: m}) // also after the actor has stopped
		}
	})
	wg.Go(func() {
		for _, e := range events {
			process.SendSystemMessage(pid, e)
			goruntime.Gosched()
		}
	})
	wg.Wait()
	process.SendSystemMessage(pid, &actor.Stop{})
	l.count(last, account.Dead)
	<-l.closed
	closeRapid(t, pool)
	l.check(t)
}

func closeRapid(t *rapid.T, p *Pool) {
	if err := p.Close(t.Context()); err != nil {
		t.Fatalf("%v", err)
	}
}

// Sends 100,000 messages of all priorities to actors that fail, stop, are replaced, or
// are slow. Each message has exactly one outcome.
func TestEveryMessageOfManyIsAccountedFor(t *testing.T) {
	const (
		senderCount = 4
		perSender   = 25_000
		actorCount  = 8
	)
	senders := make([][]*tracked, senderCount)
	var all []*tracked
	for s := range senders {
		r := rand.New(rand.NewPCG(uint64(s), 1))
		for i := range perSender {
			m := &tracked{note: note{sender: s, seq: i, priority: performatives.Priority(r.IntN(4)) - 1}, panics: r.IntN(500) == 0}
			senders[s], all = append(senders[s], m), append(all, m)
		}
	}
	system, l := newSystem(), newOutcomeCounter(all)
	defer l.watch(system)()
	pool := NewPool(PoolOptions{})
	mailbox := actor.WithMailbox(MailboxProducer(MailboxOptions{Capacity: 256, OnRefuse: l.refuse}))
	supervision := Supervision{MaxRestarts: 5, Backoff: Backoff{Min: 1, Max: 1000}}
	guardian := actor.WithGuardian(supervision.Strategy())
	var current [actorCount]atomic.Pointer[actor.PID]
	spawn := func(i int) {
		current[i].Store(system.Root.Spawn(actor.PropsFromFunc(l.receive(t), mailbox, guardian, actor.WithDispatcher(pool))))
	}
	for i := range current {
		spawn(i)
	}
	var sending sync.WaitGroup
	sendAll(&sending, senders, func(m *tracked) {
		system.Root.Send(current[m.seq%actorCount].Load(), m)
	})
	over := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() { replaceUntil(over, system, current[:], spawn) })
	sending.Wait()
	close(over)
	replacing.Wait()
	for i := range current {
		stopped := system.Root.StopFuture(current[i].Load())
		if err := stopped.Wait(); err != nil {
			t.Error(err)
		}
	}
	<-l.closed
	closePool(t, pool)
	l.check(t)
	totals := l.Totals()
	t.Log(totals)
	if totals[account.Handled] == 0 || totals[account.Refused] == 0 || totals[account.Dead] == 0 {
		t.Error("not every outcome occurs: the test does not test that")
	}
}

// replaceUntil stops random actors, by Stop or PoisonPill, and spawns others.
func replaceUntil(
	over chan struct{}, system *actor.ActorSystem, current []atomic.Pointer[actor.PID], spawn func(int),
) {
	r := rand.New(rand.NewPCG(9, 9))
	for {
		select {
		case <-over:
			return
		default:
		}
		i := r.IntN(len(current))
		old := current[i].Load()
		if r.IntN(2) == 0 {
			system.Root.Stop(old)
		} else {
			system.Root.Poison(old)
		}
		for range 50 { // some messages still go to the stopped actor
			goruntime.Gosched()
		}
		spawn(i)
	}
}
