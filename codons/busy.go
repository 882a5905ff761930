package codons

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// busyWait returns the time before the n-th retry of a message that was refused by r: the
// RetryAfter of a busy agent and up to half of it more, at random, as in [Retry.Wait]. It is zero
// for any other refusal, a busy one without a RetryAfter, and nil.
func busyWait(r *performatives.Refusal, of performatives.MessageID, n int) time.Duration {
	if r == nil || r.Code != performatives.CodeBusy || r.RetryAfter <= 0 {
		return 0
	}
	after := min(r.RetryAfter, performatives.MaxRetryAfter)
	return after + time.Duration(chance(of, n)/2*float64(after))
}

// WaitAfter is [Retry.Wait] after the error of the try before. After the refusal of a busy agent
// with a [performatives.Refusal].RetryAfter, the wait is no shorter than RetryAfter and up to half
// of it more, at random.
func (r Retry) WaitAfter(err error, of performatives.MessageID, n int) time.Duration {
	return max(r.Wait(of, n), busyWait(performatives.RefusalOf(err), of, n))
}

// AgainIfBusy calls ask, which begins a conversation with those options and waits for its end. It
// calls ask again as [Retry].Busy describes it, and returns the results of the last call. The ctx
// of ask has a deadline for all conversations: that of ctx, or else [DefaultDeadline] from now.
// AgainIfBusy must not be called on an agent's own actor.
func AgainIfBusy[T any](ctx context.Context, p Party, o *Options, ask func(context.Context) (T, error)) (T, error) {
	if !o.retry.Busy {
		return ask(ctx)
	}
	ctx, cancel := Bounded(ctx, time.Time{})
	defer cancel()
	for n := 1; ; n++ {
		result, err := ask(ctx)
		r := performatives.RefusalOf(err)
		if r == nil {
			return result, err
		}
		wait := busyWait(r, r.About, n)
		if wait == 0 || !pause(ctx, p.Self(), wait) {
			return result, err
		}
	}
}

// Pause waits for the time of [Retry.WaitAfter]. It returns false when ctx ends before, at once
// when ctx's deadline is not after the wait.
func (r Retry) Pause(ctx context.Context, p Party, err error, of performatives.MessageID, n int) bool {
	return pause(ctx, p.Self(), r.WaitAfter(err, of, n))
}

// pause waits for d, as [Retry.Pause] does, and for its turn of the system's dispatcher.
func pause(ctx context.Context, self actors.Self, d time.Duration) bool {
	if by, ok := ctx.Deadline(); d == Never || ok && time.Until(by) <= d {
		return false
	}
	turn := self.System().Turn()
	defer turn()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
