package actors

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// engine is a combination of mailbox and dispatcher to compare: ours or one of
// protoactor's.
type engine struct {
	name       string
	mailbox    actor.MailboxProducer
	dispatcher func(tb testing.TB) actor.Dispatcher
}

// benchCapacity is large enough that no message is refused.
const benchCapacity = 1 << 24

var engines = []engine{
	{"ribosome", MailboxProducer(MailboxOptions{Capacity: benchCapacity}), poolFor},
	{"protoactor-default", actor.Unbounded(), defaultDispatcher},
	{"protoactor-priority", actor.UnboundedPriority(), defaultDispatcher},
}

func poolFor(tb testing.TB) actor.Dispatcher {
	p := NewPool(PoolOptions{})
	tb.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func defaultDispatcher(testing.TB) actor.Dispatcher { return actor.NewDefaultDispatcher(300) }

func (e engine) props(tb testing.TB, receive actor.ReceiveFunc) *actor.Props {
	return actor.PropsFromFunc(receive, actor.WithMailbox(e.mailbox), actor.WithDispatcher(e.dispatcher(tb)))
}

// protoNote is a note with a priority that protoactor's priority mailbox reads too.
type protoNote struct{ note }

func (n *protoNote) GetPriority() int8 { return int8(n.priority.Band()) }

// tellBatch is the number of messages that one iteration of the tell benchmarks sends.
const tellBatch = 100_000

func BenchmarkTell(b *testing.B) {
	for _, producers := range []int{1, 4} {
		for _, e := range engines {
			b.Run(fmt.Sprintf("producers=%d/%s", producers, e.name), func(b *testing.B) {
				benchTell(b, e, producers, func(int) any { return sharedNotes[1] })
			})
		}
		b.Run(fmt.Sprintf("producers=%d/channel", producers), func(b *testing.B) { benchChannel(b, producers) })
	}
}

// BenchmarkTellMixed sends to all four bands in turn.
func BenchmarkTellMixed(b *testing.B) {
	for _, e := range engines {
		for _, producers := range []int{1, 4} {
			b.Run(fmt.Sprintf("producers=%d/%s", producers, e.name), func(b *testing.B) {
				benchTell(b, e, producers, func(i int) any { return sharedNotes[i%len(sharedNotes)] })
			})
		}
	}
}

// BenchmarkTellMessages sends messages of a peer with a principal: few, which stay in the caches of
// the processor, and many.
func BenchmarkTellMessages(b *testing.B) {
	for _, distinct := range []int{64, tellBatch} {
		messages := make([]*performatives.Message, distinct)
		for i := range messages {
			m, err := performatives.New(performatives.Envelope{
				ID: performatives.MessageID(fmt.Sprint("m", i)), Performative: performatives.ActInform, Sender: "x", Receiver: "a",
				Timestamp: time.Now(), Payload: performatives.Raw(`{}`),
			})
			if err != nil {
				b.Fatal(err)
			}
			m.Authenticate("Ada")
			messages[i] = m
		}
		b.Run(fmt.Sprintf("distinct=%d", distinct), func(b *testing.B) {
			benchTell(b, engines[0], 1, func(i int) any { return messages[i%distinct] })
		})
	}
}

var sharedNotes = func() (notes [performatives.Bands]*protoNote) {
	for p := performatives.Low; p <= performatives.Urgent; p++ {
		notes[p.Band()] = &protoNote{note{priority: p}}
	}
	return notes
}()

// tally is a receiver that signals when it has received a batch.
type tally struct {
	left int
	done chan struct{}
}

func newTally() *tally { return &tally{left: tellBatch, done: make(chan struct{}, 1)} }

func (t *tally) count() {
	if t.left--; t.left == 0 {
		t.left = tellBatch
		t.done <- struct{}{}
	}
}

func (t *tally) InvokeUserMessage(any)         { t.count() }
func (t *tally) InvokeSystemMessage(any)       {}
func (t *tally) EscalateFailure(reason, _ any) { panic(reason) }

// produce posts a batch from the given number of goroutines.
func produce(producers int, post func(i int)) {
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for i := range tellBatch / producers {
				post(i)
			}
		})
	}
	wg.Wait()
}

// benchTell measures the time from the first post of a batch to its last handled message.
func benchTell(b *testing.B, e engine, producers int, message func(i int) any) {
	t := newTally()
	m := e.mailbox()
	m.RegisterHandlers(t, e.dispatcher(b))
	m.Start()
	b.ReportAllocs()
	for b.Loop() {
		produce(producers, func(i int) { m.PostUserMessage(message(i)) })
		<-t.done
	}
	perMessage(b, tellBatch)
}

// benchChannel is the baseline: a plain channel instead of a mailbox.
func benchChannel(b *testing.B, producers int) {
	t := newTally()
	ch := make(chan any, 1024)
	go func() {
		for range ch {
			t.count()
		}
	}()
	defer close(ch)
	b.ReportAllocs()
	for b.Loop() {
		produce(producers, func(int) { ch <- sharedNotes[1] })
		<-t.done
	}
	perMessage(b, tellBatch)
}

// perMessage reports the cost per message of a batch.
func perMessage(b *testing.B, batch int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch), "ns/msg")
}

func stopAndWait(tb testing.TB, system *actor.ActorSystem, pids ...*actor.PID) {
	for _, pid := range pids {
		if err := system.Root.StopFuture(pid).Wait(); err != nil {
			tb.Error(err)
		}
	}
}

// BenchmarkPingPong runs 100 pairs of actors that send one message back and forth. An
// iteration is 100 rounds of all pairs.
func BenchmarkPingPong(b *testing.B) {
	for _, e := range engines[:2] {
		b.Run(e.name, func(b *testing.B) { benchPingPong(b, e) })
	}
	b.Run("ribosome-mailbox-on-default-dispatcher", func(b *testing.B) {
		benchPingPong(b, engine{mailbox: engines[0].mailbox, dispatcher: defaultDispatcher})
	})
}

type ball struct {
	from *actor.PID
	left int
}

func benchPingPong(b *testing.B, e engine) {
	const pairs, rounds = 100, 100
	system := newSystem()
	done := make(chan struct{}, pairs)
	props := e.props(b, func(c actor.Context) {
		m, ok := c.Message().(*ball)
		if !ok {
			return
		}
		if m.left--; m.left == 0 {
			done <- struct{}{}
			return
		}
		to := m.from
		m.from = c.Self()
		c.Send(to, m)
	})
	var pids []*actor.PID
	for range 2 * pairs {
		pids = append(pids, system.Root.Spawn(props))
	}
	defer stopAndWait(b, system, pids...)
	b.ReportAllocs()
	for b.Loop() {
		for i := range pairs {
			system.Root.Send(pids[2*i], &ball{from: pids[2*i+1], left: 2 * rounds})
		}
		for range pairs {
			<-done
		}
	}
	perMessage(b, pairs*rounds*2)
}

// BenchmarkAsk measures an ask with a timeout to an actor that replies at once.
func BenchmarkAsk(b *testing.B) {
	echo := func(c actor.Context) {
		if _, ok := c.Message().(*protoNote); ok {
			c.Respond(sharedNotes[1])
		}
	}
	b.Run("ribosome", func(b *testing.B) {
		system := newSystem()
		pid := system.Root.Spawn(engines[0].props(b, echo))
		defer stopAndWait(b, system, pid)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Ask(context.Background(), system, pid, sharedNotes[1], time.Second); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ribosome-with-cancel", func(b *testing.B) {
		system := newSystem()
		pid := system.Root.Spawn(engines[0].props(b, echo))
		defer stopAndWait(b, system, pid)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Ask(ctx, system, pid, sharedNotes[1], time.Second); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protoactor-default", func(b *testing.B) {
		system := newSystem()
		pid := system.Root.Spawn(engines[1].props(b, echo))
		defer stopAndWait(b, system, pid)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := system.Root.RequestFuture(pid, sharedNotes[1], time.Second).Result(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUrgentBehindLow measures the time from the post of an urgent message to its
// handling, with 100,000 low messages queued.
func BenchmarkUrgentBehindLow(b *testing.B) {
	system := newSystem()
	handled := make(chan time.Time, 1)
	pid := system.Root.Spawn(engines[0].props(b, func(c actor.Context) {
		switch m := c.Message().(type) {
		case *protoNote:
			if m.priority == performatives.Urgent {
				handled <- time.Now()
			}
		case chan struct{}:
			<-m
		}
	}))
	defer stopAndWait(b, system, pid)
	var waits []time.Duration
	for b.Loop() {
		handlers := make(chan struct{})
		system.Root.Send(pid, handlers)
		for range 100_000 {
			system.Root.Send(pid, sharedNotes[0])
		}
		close(handlers)
		for range 20 {
			start := time.Now()
			system.Root.Send(pid, sharedNotes[3])
			waits = append(waits, (<-handled).Sub(start))
		}
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(waits[len(waits)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkSpawn spawns actors, and reports the bytes that an idle actor occupies.
func BenchmarkSpawn(b *testing.B) {
	for _, e := range engines[:2] {
		b.Run(e.name, func(b *testing.B) { benchSpawn(b, e) })
	}
}

func benchSpawn(b *testing.B, e engine) {
	const batch = 10_000
	var bytes float64
	b.ReportAllocs()
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		system := newSystem()
		started := make(chan struct{}, batch)
		props := e.props(b, func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				started <- struct{}{}
			}
		})
		pids := make([]*actor.PID, batch)
		before := heap()
		b.StartTimer()
		start := time.Now()
		for i := range pids {
			pids[i] = system.Root.Spawn(props)
		}
		for range pids {
			<-started
		}
		spent += time.Since(start)
		b.StopTimer()
		bytes = float64(heap()-before) / batch
		stopAndWait(b, system, pids...)
		b.StartTimer()
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/batch, "ns/spawn")
	b.ReportMetric(bytes, "B/idle")
}

func heap() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}
