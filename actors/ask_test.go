package actors

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// spawnFor spawns an actor with a Mailbox on its own pool, and stops both at the end of
// the test.
func spawnFor(t *testing.T, system *actor.ActorSystem, o MailboxOptions, receive actor.ReceiveFunc) *actor.PID {
	pool := NewPool(PoolOptions{})
	pid := system.Root.Spawn(actor.PropsFromFunc(receive, actor.WithMailbox(MailboxProducer(o)), actor.WithDispatcher(pool)))
	t.Cleanup(func() {
		if _, alive := system.ProcessRegistry.Get(pid); alive {
			stopAndWait(t, system, pid)
		}
		closePool(t, pool)
	})
	return pid
}

// echo replies to an int with the same int.
func echo(c actor.Context) {
	if n, ok := c.Message().(int); ok {
		c.Respond(n)
	}
}

func processes(system *actor.ActorSystem) int {
	n := 0
	for _, bucket := range system.ProcessRegistry.LocalPIDs.LocalPIDs {
		n += bucket.Count()
	}
	return n
}

func TestAskConcurrently(t *testing.T) {
	system := newSystem()
	pid := spawnFor(t, system, MailboxOptions{}, echo)
	before := processes(system)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				want := g*10_000 + i
				got, err := Ask(context.Background(), system, pid, want, 10*time.Second)
				if err != nil || got != want {
					t.Errorf("Ask(%d) = %v, %v", want, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := processes(system) - before; n > 8+1 {
		t.Errorf("%d processes are left in the registry, want at most one per asker, and the slots", n)
	}
}

func TestAskTimesOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		pid := spawnFor(t, system, MailboxOptions{}, func(actor.Context) {})
		start := time.Now()
		_, err := Ask(context.Background(), system, pid, 1, time.Minute)
		if !errors.Is(err, ErrTimeout) || time.Since(start) != time.Minute {
			t.Errorf("err = %v after %v, want ErrTimeout after 1m", err, time.Since(start))
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err = Ask(ctx, system, pid, 1, time.Minute); !errors.Is(err, cause) {
			t.Errorf("err = %v, want the cause of the context", err)
		}
		if _, err = Ask(ctx, system, pid, 1, time.Minute); !errors.Is(err, cause) {
			t.Errorf("err = %v for a context that has ended, want its cause", err)
		}
	})
}

// A late reply to an earlier ask of the same slot does not reach a later ask.
func TestAskLateAnswerIsADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		var late []*actor.PID
		pid := spawnFor(t, system, MailboxOptions{}, func(c actor.Context) {
			switch c.Message() {
			case "late":
				late = append(late, c.Sender())
			case "now":
				for _, sender := range late {
					c.Send(sender, "too late")
					// A copy of the PID is equal to the PID.
					c.Send(&actor.PID{Address: sender.Address, Id: sender.Id, RequestId: sender.RequestId}, "too late")
				}
				c.Respond("in time")
				c.Respond("twice")
			}
		})
		var dead []any
		subscription := system.EventStream.Subscribe(func(e any) {
			if d, ok := e.(*actor.DeadLetterEvent); ok {
				dead = append(dead, d.Message)
			}
		})
		defer system.EventStream.Unsubscribe(subscription)
		if _, err := Ask(context.Background(), system, pid, "late", time.Second); !errors.Is(err, ErrTimeout) {
			t.Fatalf("err = %v", err) // the slot is used again
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, err := Ask(ctx, system, pid, "late", time.Minute); !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v", err) // the slot is used again
		}
		for range 2 {
			if got, err := Ask(context.Background(), system, pid, "now", time.Minute); got != "in time" || err != nil {
				t.Errorf("Ask = %v, %v, want its own answer", got, err)
			}
		}
		synctest.Wait()
		if len(dead) != 2*(2*2+1) {
			t.Errorf("%d dead letters, want 10: %v", len(dead), dead)
		}
	})
}

func TestAskWithoutActorFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		start := time.Now()
		stopped := spawnFor(t, system, MailboxOptions{}, echo)
		if got, err := Ask(context.Background(), system, stopped, 1, time.Hour); got != 1 || err != nil {
			t.Fatalf("Ask = %v, %v", got, err)
		}
		stopAndWait(t, system, stopped)
		for _, pid := range []*actor.PID{stopped, system.NewLocalPID("nobody")} {
			if _, err := Ask(context.Background(), system, pid, 1, time.Hour); !errors.Is(err, ErrStopped) {
				t.Errorf("%v: err = %v, want ErrStopped", pid, err)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestAskOfAFullMailboxFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		release := make(chan struct{})
		pid := spawnFor(t, system, MailboxOptions{Capacity: 1}, func(c actor.Context) {
			if _, ok := c.Message().(int); ok {
				<-release
			}
		})
		system.Root.Send(pid, 1)
		synctest.Wait()
		system.Root.Send(pid, 2)
		_, err := Ask(context.Background(), system, pid, 3, time.Hour)
		if r, ok := errors.AsType[*MailboxRefusal](err); !ok || !errors.Is(err, ErrMailboxFull) || r.Message != 3 {
			t.Errorf("err = %v, want a *MailboxRefusal of the message, for ErrMailboxFull", err)
		}
		close(release)
	})
}

func TestAskSlotsDoNotLeak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		pid := spawnFor(t, system, MailboxOptions{}, func(actor.Context) {})
		before := processes(system)
		var wg sync.WaitGroup
		for i := range 2 * idleSlots {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				timeout := time.Hour // the context ends the ask
				if i%8 == 0 {
					timeout = time.Millisecond
				}
				if _, err := Ask(ctx, system, pid, 1, timeout); err == nil {
					t.Error("an answer")
				}
			})
		}
		wg.Wait()
		if n := processes(system) - before; n > idleSlots+1 {
			t.Errorf("%d processes are left in the registry, want at most %d", n, idleSlots+1)
		}
	})
}

// A timer set for an earlier ask of the same slot does not change the timeout of a later
// one.
func TestAskTimesOutWhenItsSlotWasUsedBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		system := newSystem()
		pid := spawnFor(t, system, MailboxOptions{}, echo)
		for _, timeout := range []time.Duration{time.Second, time.Minute, time.Second, time.Millisecond, time.Hour} {
			time.Sleep(time.Millisecond)
			if got, err := Ask(context.Background(), system, pid, 1, 3*time.Second); got != 1 || err != nil {
				t.Fatalf("Ask = %v, %v", got, err)
			}
			start := time.Now()
			_, err := Ask(context.Background(), system, pid, "no answer", timeout)
			if waited := time.Since(start); !errors.Is(err, ErrTimeout) || waited != timeout {
				t.Errorf("err = %v after %v, want ErrTimeout after %v", err, waited, timeout)
			}
		}
		if n := len(slotsOf(system).idle); n != 1 {
			t.Errorf("%d slots, want one for all", n)
		}
	})
}

func TestReplySlotEndsWithItsIDs(t *testing.T) {
	system := newSystem()
	s := newReplySlot(system)
	s.requestID = math.MaxUint32 - 1
	s.open(0)
	slots := slotsOf(system)
	slots.release(s)
	if _, registered := system.ProcessRegistry.Get(s.pid); registered || len(slots.idle) != 0 {
		t.Error("the slot would be used again after its last id")
	}
}
