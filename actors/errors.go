package actors

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// What a post or an ask can fail with. Callers compare with errors.Is.
var (
	// ErrMailboxFull says that the message's band holds Capacity messages
	// already. The same message may be accepted later.
	ErrMailboxFull = errors.New("actors: mailbox full")

	// ErrStopped says that the receiver has stopped, or that there is no such
	// actor.
	ErrStopped = errors.New("actors: stopped")

	// ErrExists says that an agent has that id already.
	ErrExists = errors.New("actors: an agent with that id exists")

	// ErrConversationExists says that the agent has a conversation of that name
	// with that peer already.
	ErrConversationExists = errors.New("actors: a conversation of that name is under way")

	// ErrTimeout says that an ask had no answer in time.
	ErrTimeout = errors.New("actors: ask timed out")
)

// PanicError is the failure of a handler that panicked: the reason that its
// supervisor gets.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the stack of the handler's goroutine at the panic
}

// Error returns the panic's value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("actors: panic: %v", e.Value) }

// Unwrap returns the panic's value when it is an error, otherwise nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicError is the failure of a handler that panicked with value. One that was
// recovered and raised again keeps the stack of its origin.
func panicError(value any) *PanicError {
	if e, ok := value.(*PanicError); ok {
		return e
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// errGoexit is the failure of a handler that ended its goroutine.
var errGoexit = errors.New("the handler called runtime.Goexit")
