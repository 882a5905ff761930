package chain

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxLate is how many calls of one middleware may run beyond its timeout. While so many do, further
// messages are refused.
const MaxLate = 256

// link is one middleware of a chain.
type link struct {
	name    string
	call    Handle
	timeout time.Duration

	passed, changed, routed, refused, failed atomic.Uint64
	late                                     atomic.Int64 // calls beyond the timeout
}

// handle calls the function of the middleware, for at most its timeout.
func (l *link) handle(ctx context.Context, s *actors.System, m *performatives.Message) (*performatives.Message, error) {
	if l.timeout == 0 {
		return l.run(ctx, m)
	}
	if l.late.Load() >= MaxLate {
		return nil, &faultError{text: "does not return"}
	}
	type result struct {
		m   *performatives.Message
		err error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	s.Work(func() {
		var r result
		defer func() { done <- r }() // also at a runtime.Goexit
		r.m, r.err = l.run(ctx, m)
	})
	turn := s.Turn()
	defer turn()
	select {
	case r := <-done:
		return r.m, r.err
	case <-ctx.Done():
	}
	l.late.Add(1)
	s.Work(func() {
		<-done
		l.late.Add(-1)
	})
	return nil, &faultError{text: fmt.Sprintf("has not returned within %v", l.timeout)}
}

// run calls the function of the middleware and makes an error of a panic.
func (l *link) run(ctx context.Context, m *performatives.Message) (next *performatives.Message, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil { // runtime.Goexit continues by itself
			next, err = nil, &faultError{text: "failed", cause: fmt.Errorf("panic: %v", v), stack: debug.Stack()}
		}
	}()
	next, err = l.call(ctx, m)
	returned = true
	return next, err
}

// faultError is the error of a middleware that has failed.
type faultError struct {
	text  string // for the sender
	cause error
	stack []byte // of a panic
}

// Error returns both texts.
func (e *faultError) Error() string {
	if e.cause == nil {
		return e.text
	}
	return e.text + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *faultError) Unwrap() error { return e.cause }
