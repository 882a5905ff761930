package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// offer issues requests at a rate, in requests a second, for a time. It does not wait for their ends. A request may block
// its producer, so there are several. A request that none of them has issued within patience, or soon after the end, is held.
func offer(length time.Duration, rate float64, issue, hold func()) {
	queue := make(chan struct{}, 1+int(rate*patience.Seconds()))
	began, offered := time.Now(), 0
	var producers sync.WaitGroup
	for range min(64, 1+int(rate/100)) {
		producers.Go(func() {
			for range queue {
				if time.Since(began) < length+drainTime {
					issue()
				} else {
					hold()
				}
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for elapsed := time.Duration(0); elapsed < length; <-tick.C {
		elapsed = min(time.Since(began), length)
		for ; float64(offered) < rate*elapsed.Seconds(); offered++ {
			select {
			case queue <- struct{}{}:
			default:
				hold()
			}
		}
	}
	close(queue)
	producers.Wait()
}

// drainTime is how long producers have, after the end, to issue what was offered just before.
const drainTime = 100 * time.Millisecond

// closedLoop has askers ask again and again for a time. They begin one after the other within stagger. It returns how long
// each of them asked, on average.
func closedLoop(ctx context.Context, askers int, length, stagger time.Duration, ask func(i int) error) time.Duration {
	var all sync.WaitGroup
	var sum atomic.Int64
	for i := range askers {
		all.Go(func() {
			_ = wait(ctx, stagger*time.Duration(i)/time.Duration(askers)) // ask notices the end of ctx
			began := time.Now()
			for time.Since(began) < length && ctx.Err() == nil {
				if ask(i) != nil {
					_ = wait(ctx, pause)
				}
			}
			sum.Add(int64(time.Since(began)))
		})
	}
	all.Wait()
	return time.Duration(sum.Load() / int64(askers))
}

// pause is how long an asker of a closed loop waits after a failure.
const pause = 10 * time.Millisecond

// errNever is the error of a request without an answer.
var errNever = errors.New("never answered")

// awaited is an asker that also tells a channel.
type awaited struct {
	asker
	ended chan error
}

func (a awaited) ask(r request, told func(error)) {
	a.asker.ask(r, func(err error) {
		told(err)
		a.ended <- err
	})
}

// ask issues a request and waits for its end, for twice its patience at most.
func (t *tally) ask(ctx context.Context, a asker, r request, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*patience, errNever)
	defer cancel()
	ended := make(chan error, 1)
	t.issue(awaited{a, ended}, r, patience)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
