package auth

import (
	"context"
	"sync/atomic"
	"time"
)

// renewed is a value that its users renew. The first caller after the time of renewal renews it.
// Concurrent callers get the value as it is, and block only if it does not serve them.
type renewed[T any] struct {
	// renew makes an attempt. It returns the attempt before with the error if it has failed, and
	// false if the attempt is not to be kept.
	renew func(ctx context.Context, before attempt[T]) (after attempt[T], keep bool)
	lock  chan struct{} // a mutex whose lock can be cancelled by a context
	last  atomic.Pointer[attempt[T]]
}

// attempt is the result of the last attempts: the current value and the last error.
type attempt[T any] struct {
	value   T
	due     time.Time // when to renew the value; zero for never
	expires time.Time // of the value; zero for never
	retry   time.Time // the earliest time of the next attempt
	err     error     // of the last attempt
}

func newRenewed[T any](renew func(context.Context, attempt[T]) (attempt[T], bool)) *renewed[T] {
	r := &renewed[T]{renew: renew, lock: make(chan struct{}, 1)}
	r.last.Store(&attempt[T]{})
	return r
}

// valid reports whether the value has not expired, and serves a caller.
func (a *attempt[T]) valid(serves func(T) bool) bool {
	return (a.expires.IsZero() || time.Now().Before(a.expires)) && serves(a.value)
}

// wanted reports whether it is time for another attempt.
func (a *attempt[T]) wanted(serves func(T) bool) bool {
	now := time.Now()
	return !now.Before(a.retry) && (!a.valid(serves) || !a.due.IsZero() && !now.Before(a.due))
}

// get returns the last attempt, and whether the caller has made it. The error is the cause of ctx,
// where that has ended before the caller could make one.
func (r *renewed[T]) get(ctx context.Context, serves func(T) bool) (a *attempt[T], own bool, err error) {
	a = r.last.Load()
	switch {
	case !a.wanted(serves):
		return a, false, nil
	case a.valid(serves):
		select {
		case r.lock <- struct{}{}:
		default: // another caller renews it
			return a, false, nil
		}
	default:
		select {
		case r.lock <- struct{}{}:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	defer func() { <-r.lock }()
	if a = r.last.Load(); !a.wanted(serves) { // another caller has renewed it
		return a, false, nil
	}
	after, keep := r.renew(ctx, *a)
	if keep {
		r.last.Store(&after)
	}
	return &after, true, nil
}
