package actors

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func closePool(tb testing.TB, p *Pool) {
	tb.Helper()
	if err := p.Close(context.Background()); err != nil {
		tb.Error(err)
	}
}

func TestPoolRunsEverythingOnce(t *testing.T) {
	p := NewPool(PoolOptions{Workers: 3})
	var ran atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				p.Schedule(func() { ran.Add(1) })
			}
		})
	}
	wg.Wait()
	closePool(t, p)
	if n := ran.Load(); n != 20_000 {
		t.Errorf("ran %d tasks, want 20000", n)
	}
}

func TestPoolServesOthersWhileHandlersBlockForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stuck = 500
		p := NewPool(PoolOptions{Workers: 2})
		release := make(chan struct{})
		for range stuck {
			p.Schedule(func() { <-release })
		}
		start := time.Now()
		done := make(chan time.Time, 1)
		p.Schedule(func() { done <- time.Now() })
		if waited := (<-done).Sub(start); waited > time.Second*2 {
			t.Errorf("a task behind %d stuck ones waited for %v", stuck, waited)
		}
		close(release)
		synctest.Wait()
		p.mu.Lock()
		workers, stuckNow := len(p.workers), p.stuck
		p.mu.Unlock()
		if workers > p.options.Idle || stuckNow != 0 {
			t.Errorf("%d workers are left, %d of them stuck; want at most %d, and none", workers, stuckNow, p.options.Idle)
		}
		closePool(t, p)
	})
}

// The virtual time of a bubble does not advance to a timer if the idle pool has none.
func TestPoolHasNoTimerWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolOptions{})
		for range 100 {
			p.Schedule(func() {})
		}
		synctest.Wait()
		time.Sleep(2 * DefaultStall) // a running timer fires
		p.mu.Lock()
		if p.timerSet {
			t.Error("the timer of an idle pool is set")
		}
		p.mu.Unlock()
		closePool(t, p)
	})
}

func TestPoolCloseWaitsForHandlers(t *testing.T) {
	p := NewPool(PoolOptions{})
	release := make(chan struct{})
	started := make(chan struct{})
	p.Schedule(func() { close(started); <-release })
	<-started
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if err := p.Close(ctx); !errors.Is(err, cause) {
		t.Errorf("Close = %v, want the cause of its context", err)
	}
	close(release)
	closePool(t, p)
}

func TestPoolRunsTasksScheduledAfterClose(t *testing.T) {
	p := NewPool(PoolOptions{})
	closePool(t, p)
	done := make(chan struct{})
	p.Schedule(func() { close(done) })
	<-done
	closePool(t, p)
}

func TestPoolReplacesAWorkerWhoseHandlerEndsIt(t *testing.T) {
	p := NewPool(PoolOptions{Workers: 1})
	p.Schedule(func() { goruntime.Goexit() })
	done := make(chan struct{})
	p.Schedule(func() { close(done) })
	<-done
	closePool(t, p)
}

// The last worker ends with its handler while another task waits: Close waits for that task, too.
func TestPoolCloseWaitsBehindAnEndedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolOptions{Workers: 1})
		first, second, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
		p.Schedule(func() { <-first; goruntime.Goexit() })
		p.Schedule(func() { <-second })
		go func() { closePool(t, p); close(closed) }()
		synctest.Wait()
		close(first)
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close has returned before the last task")
		default:
		}
		close(second)
		<-closed
	})
}

func TestPoolStartStopStress(t *testing.T) {
	for range 200 {
		p := NewPool(PoolOptions{Workers: 2})
		var ran atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 10 {
					p.Schedule(func() { ran.Add(1) })
				}
			})
		}
		closePool(t, p)
		wg.Wait()
		closePool(t, p)
		if ran.Load() != 30 {
			t.Fatalf("ran %d tasks, want 30", ran.Load())
		}
	}
}

func TestPoolRejectsInvalidOptions(t *testing.T) {
	for _, o := range []PoolOptions{{Workers: -1}, {Idle: -1}, {Throughput: -1}, {Stall: -1}} {
		if o.withDefaults().validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// A pool knows how long an ordinary turn waits. Urgent ones, which overtake it, do not count.
func TestPoolMeasuresTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, held := NewPool(PoolOptions{Workers: 1, Stall: 1 << 60}), make(chan struct{})
		pool.Schedule(func() { <-held })
		synctest.Wait()
		for _, c := range []struct {
			schedule func(func())
			waits    bool
		}{{pool.ScheduleFirst, false}, {pool.Schedule, true}} {
			for range 200 {
				c.schedule(func() {})
			}
			time.Sleep(time.Second)
			if d := pool.wait.Delay(); d > 0 != c.waits {
				t.Errorf("a turn waits for %v, want a wait: %t", d, c.waits)
			}
		}
		close(held)
		synctest.Wait()
		if d := pool.wait.Delay(); d > 0 {
			t.Errorf("with empty queues, a turn waits for %v", d)
		}
		closePool(t, pool)
	})
}
