package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Errors of Post, Ask, Spawn and conversations. Callers compare them with errors.Is.
var (
	// ErrMailboxFull means that the band of the message holds Capacity messages already, or that a
	// request would wait too long in it: see [MailboxOptions]. A later attempt may succeed. It
	// wraps [performatives.CodeBusy].
	ErrMailboxFull = fmt.Errorf("actors: mailbox full (%w)", performatives.CodeBusy)

	// ErrStopped means that the receiver has stopped, or that there is no such actor.
	ErrStopped = errors.New("actors: stopped")

	// ErrExists means that an agent with the same id exists.
	ErrExists = errors.New("actors: an agent with that id exists")

	// ErrConversationExists means that the agent has an open conversation with the same
	// id, peer and role.
	ErrConversationExists = errors.New("actors: a conversation with that id is open")

	// ErrTimeout means that an ask got no reply within its timeout. It wraps
	// [context.DeadlineExceeded].
	ErrTimeout = fmt.Errorf("actors: ask timed out: %w", context.DeadlineExceeded)
)

// PanicError is the failure of a handler that panicked. It is the reason that the
// supervisor gets.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // the stack of the handler's goroutine at the panic
}

// Error returns the panic's value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("actors: panic: %v", e.Value) }

// Unwrap returns the panic's value when it is an error, otherwise nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicError returns value as a [*PanicError]. A panic that was recovered and raised
// again keeps its original stack.
func panicError(value any) *PanicError {
	if e, ok := value.(*PanicError); ok {
		return e
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// errGoexit is the failure of a handler that called runtime.Goexit.
var errGoexit = errors.New("the handler called runtime.Goexit")
