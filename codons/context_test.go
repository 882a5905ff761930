package codons

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTaskContext(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	for _, test := range []struct{ cause, err error }{
		{ErrDeadline, context.DeadlineExceeded},
		{ErrCanceled, context.Canceled},
		{ErrEnded, context.Canceled},
	} {
		s := new(scope)
		ctx, end := s.work(&Handler{scope: s}, deadline, nil)
		if at, ok := ctx.Deadline(); !ok || !at.Equal(deadline) || ctx.Err() != nil {
			t.Fatalf("deadline %v, %t, error %v", at, ok, ctx.Err())
		}
		child, cancel := context.WithTimeout(ctx, 2*time.Hour)
		if at, _ := child.Deadline(); !at.Equal(deadline) {
			t.Errorf("a sub-task may take until %v, want %v", at, deadline)
		}
		end(test.cause)
		<-child.Done()
		cancel()
		if err := ctx.Err(); !errors.Is(err, test.err) || !errors.Is(context.Cause(child), test.cause) {
			t.Errorf("%v: got %v, cause %v", test.cause, err, context.Cause(child))
		}
	}
}

// TestEndedBy: an error that the end of the context has caused is no failure of the job, but for
// that of a deadline.
func TestEndedBy(t *testing.T) {
	for _, cause := range []error{ErrCanceled, ErrOperator, ErrTimer, ErrPeerLost, ErrMisread, ErrEnded, ErrDeadline} {
		s := new(scope)
		ctx, end := s.work(&Handler{scope: s}, time.Time{}, nil)
		end(cause)
		if got, want := endedBy(ctx, errors.Join(context.Cause(ctx))), !errors.Is(cause, ErrDeadline); got != want {
			t.Errorf("%v: got %t", cause, got)
		}
	}
}
