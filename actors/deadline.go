package actors

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// deadlineRounding is the largest time by which a peer's form of a deadline is earlier than the
// deadline: dialects write milliseconds.
const deadlineRounding = time.Millisecond

// DeadlinePassed reports whether a caller's own deadline has passed at a time. The zero deadline
// never has. An error of the peer that comes then is as good as the caller's own timer, whichever
// is first. An error before that is about a deadline within the peer's work.
func DeadlinePassed(by, now time.Time) bool {
	return !by.IsZero() && !now.Before(by.Add(-deadlineRounding))
}

// EndOf returns the reason for the end of ctx: its cause, which wraps the error of ctx too. It
// may be called only once ctx has ended.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
