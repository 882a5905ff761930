package actors

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
)

// Hazards of the engine that this package guards against. Each test shows the engine's
// behaviour beside ours, so that it fails when a guard is no longer needed.

// served posts messages to a mailbox, and returns the messages that it serves.
func served(m actor.Mailbox, messages ...any) []any {
	r, sim := &recorder{}, NewSim(SimOptions{Throughput: 100})
	m.RegisterHandlers(r, sim)
	m.Start()
	for _, message := range messages {
		m.PostUserMessage(message)
	}
	sim.Run()
	return r.user
}

// enveloped wraps notes, with a priority for both engines, in envelopes.
func enveloped(messages []any) []any {
	for i, m := range messages {
		messages[i] = &actor.MessageEnvelope{Message: &protoNote{*m.(*note)}, Sender: actor.NewPID("a", "b")}
	}
	return messages
}

func protoSeqs(messages []any) (all []int) {
	for _, m := range messages {
		all = append(all, actor.UnwrapEnvelopeMessage(m).(*protoNote).seq)
	}
	return all
}

func TestHazardPriorityOfAnEnvelopedMessage(t *testing.T) {
	engine := protoSeqs(served(actor.UnboundedPriority()(), enveloped(notes(low, urgent))...))
	if !cmp.Equal(engine, []int{0, 1}) {
		t.Errorf("the engine serves %v: it reads the priority in an envelope now", engine)
	}
	ours := protoSeqs(served(NewMailbox(MailboxOptions{}), enveloped(notes(low, urgent))...))
	if !cmp.Equal(ours, []int{1, 0}) {
		t.Errorf("we serve %v, want the urgent one first", ours)
	}
}

type batch []any

func (b batch) GetMessages() []any { return b }

func TestHazardBatchIsServedTwice(t *testing.T) {
	if n := len(served(actor.Unbounded()(), batch{"a", "b"})); n != 3 {
		t.Errorf("the engine serves a batch of two %d times: it has changed", n)
	}
	if diff := cmp.Diff([]any{"a", "b"}, served(NewMailbox(MailboxOptions{}), batch{"a", "b"})); diff != "" {
		t.Errorf("raw batch (-want +got):\n%s", diff)
	}
	sender := actor.NewPID("a", "b")
	got := served(NewMailbox(MailboxOptions{}), &actor.MessageEnvelope{Message: batch{"a", "b"}, Sender: sender})
	for i, want := range []any{"a", "b"} {
		e, ok := got[i].(*actor.MessageEnvelope)
		if !ok || e.Message != want || e.Sender != sender {
			t.Errorf("item %d is %v, want %v with the batch's sender", i, got[i], want)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d messages, want 2", len(got))
	}
}

func TestHazardFullMailboxSpinsThePoster(t *testing.T) {
	engine, r, sim := actor.Bounded(2)(), &recorder{}, NewSim(SimOptions{Throughput: 100})
	engine.RegisterHandlers(r, sim)
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		for i := range 3 {
			engine.PostUserMessage(i)
		}
	}()
	for engine.UserMessageCount() < 2 {
		goruntime.Gosched()
	}
	for range 1000 {
		goruntime.Gosched()
	}
	select {
	case <-posted:
		t.Error("the engine's poster does not wait any more")
	default:
	}
	for len(r.user) < 3 {
		sim.Run()
		goruntime.Gosched()
	}
	<-posted

	b := newTestMailbox(2)
	for range 3 {
		b.PostUserMessage(&note{}) // blocks in the engine's mailbox
	}
	if len(b.refused.messages) != 1 {
		t.Errorf("%d refused, want 1", len(b.refused.messages))
	}
}

// busyActor blocks in its first message.
func busyActor(release chan struct{}) actor.ReceiveFunc {
	return func(c actor.Context) {
		switch m := c.Message().(type) {
		case string:
			<-release
		case int:
			c.Respond(m)
		}
	}
}

func TestHazardStopLosesWhatIsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system, release := newSystem(), make(chan struct{})
		pid := system.Root.Spawn(actor.PropsFromFunc(busyActor(release)))
		system.Root.Send(pid, "block")
		future := system.Root.RequestFuture(pid, 1, time.Minute)
		system.Root.Stop(pid)
		close(release)
		start := time.Now()
		if _, err := future.Result(); !errors.Is(err, actor.ErrTimeout) || time.Since(start) < time.Minute {
			t.Errorf("the engine answers %v after %v: it has changed", err, time.Since(start))
		}
	})
	bubble(t, func(t *testing.T) {
		system, release := newSystem(), make(chan struct{})
		var refused refusals
		o := MailboxOptions{}
		pid := spawnFor(t, system, o, busyActor(release))
		told := spawnFor(t, system, MailboxOptions{OnRefuse: refused.add}, busyActor(release))
		for _, p := range []*actor.PID{pid, told} {
			system.Root.Send(p, "block")
		}
		for i := range 10 {
			system.Root.Send(told, &note{priority: low, seq: i})
		}
		synctest.Wait()
		asked := make(chan error)
		go func() {
			_, err := Ask(context.Background(), system, pid, 1, time.Minute)
			asked <- err
		}()
		synctest.Wait()
		start := time.Now()
		system.Root.Stop(pid)
		system.Root.Stop(told)
		close(release)
		if err := <-asked; !errors.Is(err, ErrStopped) || time.Since(start) != 0 {
			t.Errorf("the asker gets %v after %v, want ErrStopped at once", err, time.Since(start))
		}
		synctest.Wait()
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, seqs(refused.messages)); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	})
}

// A message that expects no reply is a dead letter.
func TestHazardStopWithoutDeadLetters(t *testing.T) {
	for name, mailbox := range map[string]actor.MailboxProducer{
		"engine": actor.Unbounded(), "ours": MailboxProducer(MailboxOptions{}),
	} {
		bubble(t, func(t *testing.T) {
			system, release, dead := newSystem(), make(chan struct{}), 0
			pid := system.Root.Spawn(actor.PropsFromFunc(busyActor(release), actor.WithMailbox(mailbox)))
			subscription := system.EventStream.Subscribe(func(e any) {
				if d, ok := e.(*actor.DeadLetterEvent); ok && d.Message == 1 && d.PID.Equal(pid) {
					dead++
				}
			})
			defer system.EventStream.Unsubscribe(subscription)
			system.Root.Send(pid, "block")
			system.Root.Send(pid, 1)
			system.Root.Stop(pid)
			close(release)
			synctest.Wait()
			if want := map[string]int{"engine": 0, "ours": 1}[name]; dead != want {
				t.Errorf("%s: %d dead letters, want %d", name, dead, want)
			}
		})
	}
}

func TestHazardPoisonPillComesLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system, release := newSystem(), make(chan struct{})
		var handled, refused []int
		o := MailboxOptions{Capacity: 4, OnRefuse: func(m any, _ Reason) { refused = append(refused, m.(*note).seq) }}
		pid := spawnFor(t, system, o, func(c actor.Context) {
			switch m := c.Message().(type) {
			case string:
				<-release
			case *note:
				handled = append(handled, m.seq)
				if m.seq == 3 {
					c.Send(c.Self(), &note{priority: low, seq: 9}) // queued after the pill
				}
			}
		})
		system.Root.Send(pid, "block")
		synctest.Wait()
		for i := range 4 {
			system.Root.Send(pid, &note{priority: low, seq: i}) // the band is full
		}
		system.Root.Poison(pid)
		system.Root.Send(pid, &note{priority: urgent, seq: 4})
		close(release)
		synctest.Wait()
		if diff := cmp.Diff([]int{4, 0, 1, 2, 3}, handled); diff != "" || !cmp.Equal(refused, []int{9}) {
			t.Errorf("refused %v, want [9]; handled (-want +got):\n%s", refused, diff)
		}
		if _, alive := system.ProcessRegistry.Get(pid); alive {
			t.Error("the actor is alive")
		}
	})
}

// startTimes spawns an actor that fails n times directly after its start, and returns the
// delays before the restarts.
func startTimes(t *testing.T, s actor.SupervisorStrategy, n int) []time.Duration {
	var delays []time.Duration
	bubble(t, func(t *testing.T) {
		system, done, last := newSystem(), make(chan struct{}), time.Now()
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				delays = append(delays, time.Since(last).Round(time.Millisecond))
				last = time.Now()
				if len(delays) <= n {
					panic(errBroken)
				}
				close(done)
			}
		}, actor.WithGuardian(s)))
		<-done
		stopAndWait(t, system, pid)
	})
	return delays[1:]
}

func TestHazardBackoffIsLinearAndWithoutCap(t *testing.T) {
	ms := time.Millisecond
	engine := startTimes(t, actor.NewExponentialBackoffStrategy(time.Hour, 100*ms), 5)
	if diff := cmp.Diff([]time.Duration{100 * ms, 200 * ms, 300 * ms, 400 * ms, 500 * ms}, engine); diff != "" {
		t.Errorf("the engine's backoff has changed (-want +got):\n%s", diff)
	}
	ours := startTimes(t, Supervision{Backoff: Backoff{Min: 100 * ms, Max: 500 * ms}}.Strategy(), 5)
	if diff := cmp.Diff([]time.Duration{100 * ms, 200 * ms, 400 * ms, 500 * ms, 500 * ms}, ours); diff != "" {
		t.Errorf("our backoff (-want +got):\n%s", diff)
	}
}

// A continuation of ReenterAfter is a system message and overtakes urgent messages, in
// any mailbox. For this reason agents are not offered ReenterAfter.
func TestHazardReenterAfterOvertakesTheBands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		var order []string
		pid := spawnFor(t, system, MailboxOptions{}, func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Future:
				c.Send(c.Self(), &note{priority: urgent})
				c.ReenterAfter(m, func(any, error) { order = append(order, "continuation") })
			case *note:
				order = append(order, "urgent")
			}
		})
		future := actor.NewFuture(system, -1)
		system.Root.Send(future.PID(), "result")
		system.Root.Send(pid, future)
		synctest.Wait()
		if diff := cmp.Diff([]string{"continuation", "urgent"}, order); diff != "" {
			t.Errorf("a continuation could be offered now (-want +got):\n%s", diff)
		}
	})
}

// startsWhileStopping sends Restart to an actor that waits for its child to stop, and
// returns the number of its starts.
func startsWhileStopping(t *testing.T, mailbox actor.MailboxProducer) (starts int) {
	bubble(t, func(t *testing.T) {
		system, release := newSystem(), make(chan struct{})
		child := actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Stopping); ok {
				<-release
			}
		})
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				starts++
				if starts == 1 {
					c.Spawn(child)
				}
			}
		}, actor.WithMailbox(mailbox)))
		synctest.Wait()
		process, _ := system.ProcessRegistry.Get(pid)
		system.Root.Stop(pid)
		synctest.Wait()
		process.SendSystemMessage(pid, &actor.Restart{})
		close(release)
		synctest.Wait()
		process.SendSystemMessage(pid, &actor.Restart{})
		synctest.Wait()
	})
	return starts
}

func TestHazardRestartUndoesAStop(t *testing.T) {
	if n := startsWhileStopping(t, actor.Unbounded()); n < 2 {
		t.Errorf("the engine starts the actor %d times: it has changed", n)
	}
	if n := startsWhileStopping(t, MailboxProducer(MailboxOptions{})); n != 1 {
		t.Errorf("we start the actor %d times, want 1", n)
	}
}

// An actor that panics in Stopping still stops, with its children, and its parent is
// notified.
func TestHazardPanicWhileStopping(t *testing.T) {
	panicsOn := map[string]func(m any) bool{
		"Stopping":   func(m any) bool { _, ok := m.(*actor.Stopping); return ok },
		"Stopped":    func(m any) bool { _, ok := m.(*actor.Stopped); return ok },
		"Terminated": func(m any) bool { _, ok := m.(*actor.Terminated); return ok },
		"everything": func(m any) bool { _, ok := m.(*actor.Started); return !ok },
	}
	for name, panics := range panicsOn {
		for _, children := range []int{0, 2} {
			bubble(t, func(t *testing.T) {
				system := newSystem()
				var alive atomic.Int32
				ended := make(chan struct{})
				mailbox := actor.WithMailbox(MailboxProducer(MailboxOptions{}))
				grandchild := actor.PropsFromFunc(func(c actor.Context) {
					switch c.Message().(type) {
					case *actor.Started:
						alive.Add(1)
					case *actor.Stopped:
						alive.Add(-1)
					}
				}, mailbox)
				child := actor.PropsFromFunc(func(c actor.Context) {
					if _, ok := c.Message().(*actor.Started); ok {
						for range children {
							c.Spawn(grandchild)
						}
					}
					if panics(c.Message()) {
						panic(errBroken)
					}
				}, mailbox)
				parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					switch c.Message().(type) {
					case *actor.Started:
						c.Stop(c.Spawn(child))
					case *actor.Terminated:
						if len(c.Children()) == 0 {
							close(ended)
						}
					}
				}, mailbox))
				synctest.Wait()
				select {
				case <-ended:
				default:
					t.Errorf("panic on %s, %d children: the parent waits for ever", name, children)
				}
				if n := alive.Load(); n != 0 {
					t.Errorf("panic on %s: %d of %d children are alive", name, n, children)
				}
				stopAndWait(t, system, parent)
			})
		}
	}
}

// An actor whose end was forced receives no further messages.
func TestHazardMessageAfterAForcedEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system, calls := newSystem(), 0
		pid := spawnFor(t, system, MailboxOptions{}, func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); !ok {
				calls++
				panic(errBroken)
			}
		})
		process, _ := system.ProcessRegistry.Get(pid)
		system.Root.Stop(pid)
		synctest.Wait()
		before := calls
		process.SendSystemMessage(pid, &actor.Terminated{Who: pid})
		process.SendUserMessage(pid, 1)
		synctest.Wait()
		if _, alive := system.ProcessRegistry.Get(pid); alive || calls != before {
			t.Errorf("alive %v; %d calls after the end, want none", alive, calls-before)
		}
	})
}

// The engine registers an actor before its mailbox has an invoker. A message posted in
// between makes the engine's mailbox panic.
func TestHazardMessageBeforeTheMailboxIsReady(t *testing.T) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the engine's mailbox takes a message before it is ready now")
			}
		}()
		actor.Unbounded()().PostUserMessage("early")
	}()
	m := NewMailbox(MailboxOptions{Capacity: 1})
	for range 3 { // a refusal has no invoker yet
		m.PostUserMessage("early")
	}
	if got := served(m); len(got) != 3 {
		t.Errorf("served %v, want all three", got)
	}
}
