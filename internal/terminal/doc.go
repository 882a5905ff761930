// Package terminal tells terminals from other devices, finds out that an output has no reader any
// more, and keeps the texts of a log from what a terminal would obey.
package terminal

import (
	"context"
	"os"
)

// Is reports whether a stream is a terminal. Other devices, such as /dev/null, are none.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isTerminal(f)
}

// UntilUnread returns a context that also ends when the other end of a stream, a pipe or a socket,
// is closed, with or without a write. The caller calls the function that it returns.
func UntilUnread(ctx context.Context, stream any) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	f, ok := stream.(*os.File)
	if !ok {
		return ctx, cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if unread(ctx, f) {
			cancel()
		}
	}()
	return ctx, func() { cancel(); <-done }
}
