package overload

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
	never                // no answer: of a closed tally only
	outcomes
)

var errHeld = errors.New("held back")

// outcomeOf returns the outcome that an error stands for.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, errHeld), errors.Is(err, actors.ErrMailboxFull): // the asker's own mailbox
		return held
	case errors.Is(err, p.CodeBusy):
		return busy
	case errors.Is(err, p.CodeTimeout), errors.Is(err, p.CodeExpired), errors.Is(err, context.DeadlineExceeded):
		return late
	}
	return other
}

// tally counts the outcomes of requests. Its methods are safe for concurrent use; its fields may
// be read after close.
type tally struct {
	mu            sync.Mutex
	offered, open int
	n             [outcomes]int
	goodput       int       // results in time, and before until
	until         time.Time // zero means no limit
	took, refused times     // to results in time, and to answers busy
	after         times     // after the deadline
	reason        error     // of the last outcome other
	closed        bool      // nothing changes any more
}

// issue sends a request, and counts what becomes of it. The channel then has its error.
func (t *tally) issue(a asker, r request) <-chan error {
	t.begin()
	ended := make(chan error, 1)
	a.ask(r, func(err error) {
		t.end(r, time.Now(), err)
		ended <- err
	})
	return ended
}

// begin counts a request that is offered.
func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offered++
	t.open++
}

// end counts the end of a request.
func (t *tally) end(r request, now time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	o, deadline := outcomeOf(err), r.at.Add(r.patience)
	if now.After(deadline) {
		t.after.add(now.Sub(deadline))
		if o == done {
			o = late
		}
	}
	t.open--
	t.n[o]++
	switch o { //nolint:exhaustive // the others are counted only
	case done:
		t.took.add(now.Sub(r.at))
		if t.until.IsZero() || now.Before(t.until) {
			t.goodput++
		}
	case busy:
		t.refused.add(now.Sub(r.at))
	case other:
		t.reason = err
	}
}

// waits reports whether requests have no outcome yet.
func (t *tally) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open > 0
}

// close ends the count.
func (t *tally) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed, t.n[never] = true, t.open
}

// times is a histogram of times from 1 µs to 100 s, so that its memory does not grow with the
// load. Each bucket ends 2% above the one before.
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

// quantile returns the upper end of the bucket with the quantile q in milliseconds, and a dash
// without times.
func (t *times) quantile(q float64) string {
	rest := int(math.Ceil(q * float64(t.all)))
	for i := range t.n {
		if rest -= t.n[i]; t.n[i] > 0 && rest <= 0 {
			return fmt.Sprintf("%.3g", math.Exp(float64(i+1)/bucketsPerE)/1000)
		}
	}
	return "-"
}
