package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// outcome is what became of a request.
type outcome int

const (
	done  outcome = iota // a result in time
	busy                 // refused as busy
	late                 // told that the deadline has passed, or told the result after it
	other                // any other failure
	held                 // not sent: the producer was slowed down
	outcomes
)

// outcomeOf returns the outcome that an error stands for.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, errHeld), errors.Is(err, actors.ErrMailboxFull): // the asker's own
		return held
	case errors.Is(err, p.CodeBusy):
		return busy
	case errors.Is(err, p.CodeTimeout), errors.Is(err, p.CodeExpired), errors.Is(err, context.DeadlineExceeded):
		return late
	}
	return other
}

// errHeld is the error of a request that was not sent, because the product slows down its producer.
var errHeld = errors.New("held back")

// tally counts the outcomes of requests. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	offered int
	n       [outcomes]int
	goodput int       // results in time, and before until
	until   time.Time // zero means no limit
	took    times     // to results in time
	refused times     // to answers busy
	after   times     // the deadline
	reason  string    // of the last outcome other
	closed  bool      // nothing changes any more
}

// issue sends a request with a deadline, and counts what becomes of it.
func (t *tally) issue(a asker, r request, patience time.Duration) {
	at := time.Now()
	r.deadline = at.Add(patience)
	t.mu.Lock()
	t.offered++
	t.mu.Unlock()
	a.ask(r, func(err error) { t.told(at, r.deadline, time.Now(), err) })
}

// hold counts a request that could not be issued.
func (t *tally) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offered++
	t.n[held]++
}

// told counts the end of a request.
func (t *tally) told(at, deadline, now time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	o := outcomeOf(err)
	if now.After(deadline) {
		t.after.add(now.Sub(deadline))
		if o == done {
			o = late
		}
	}
	t.n[o]++
	switch o {
	case done:
		t.took.add(now.Sub(at))
		if t.until.IsZero() || now.Before(t.until) {
			t.goodput++
		}
	case busy:
		t.refused.add(now.Sub(at))
	case other:
		t.reason = err.Error()
	}
}

// close ends the count: the requests without an outcome are never answered.
func (t *tally) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// count returns the number of requests with an outcome.
func (t *tally) count(o outcome) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[o]
}

// open returns the number of requests without an outcome.
func (t *tally) open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	open := t.offered
	for _, n := range t.n {
		open -= n
	}
	return open
}

// times is a histogram of times from 1 µs to 100 s, so that its memory does not grow with the load. Each bucket ends 2% above the
// one before.
type times struct {
	n   [950]int
	all int
}

const bucketsPerE = 50 // in a factor of e

func (t *times) add(d time.Duration) {
	i := int(math.Log(max(1, float64(d)/float64(time.Microsecond))) * bucketsPerE)
	t.n[min(i, len(t.n)-1)]++
	t.all++
}

// quantile returns the upper end of the bucket with the quantile q in milliseconds, and a dash without times.
func (t *times) quantile(q float64) string {
	rest := int(math.Ceil(q * float64(t.all)))
	for i, n := range t.n {
		if rest -= n; n > 0 && rest <= 0 {
			return fmt.Sprintf("%.3g", math.Exp(float64(i+1)/bucketsPerE)/1000)
		}
	}
	return "-"
}
