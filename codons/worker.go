package codons

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Why a handler's context ended: the cause of it.
var (
	// ErrCanceled says that the asker sent CANCEL.
	ErrCanceled = errors.New("codons: the asker cancelled the task")
	// ErrDeadline says that ReplyBy has passed. It is a [context.DeadlineExceeded].
	ErrDeadline = fmt.Errorf("codons: the task's deadline has passed: %w", context.DeadlineExceeded)
	// ErrEnded says that the conversation was ended, as when its agent stops.
	ErrEnded = errors.New("codons: the conversation has ended")
)

var delegation = DelegationTable().MustCompile()

// Delegation is the protocol that makes every [Worker] answer TASK_REQUEST. The
// zero value works.
type Delegation struct {
	// Deadline is how long a task may take whose request names no ReplyBy. Zero
	// means [DefaultDeadline].
	Deadline time.Duration
	// Grace is how long a handler has to return once its context has ended: then an
	// asker that sent CANCEL is told that it still runs, and [actors.WorkAbandoned]
	// is published. Zero means [DefaultGrace].
	Grace time.Duration
}

// Name returns "task-delegation".
func (Delegation) Name() string { return delegation.Name() }

// Opens reports whether m begins a delegation: a TASK_REQUEST, or its CANCEL where
// that comes first.
func (d Delegation) Opens(m *performatives.Message) bool {
	return m.Performative() == performatives.ActTaskRequest ||
		m.Performative() == performatives.ActCancel && m.Protocol() == d.Name()
}

// Bind returns the responder of a [Worker].
func (d Delegation) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	w, ok := agent.(Worker)
	if !ok {
		return nil
	}
	if d.Deadline <= 0 {
		d.Deadline = DefaultDeadline
	}
	if d.Grace <= 0 {
		d.Grace = DefaultGrace
	}
	limit := DefaultMaxTasks
	if l, ok := agent.(Limited); ok && l.MaxTasks() > 0 {
		limit = l.MaxTasks()
	}
	return &bench{times: d, self: self, worker: w, limit: int64(limit)}
}
