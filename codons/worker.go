package codons

import (
	"context"
	"errors"
	"fmt"

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

// ErrDeciding says that a conversation was to begin with the ctx of a decision, such as
// [Worker].ConsiderTask has it. It can begin once the task has been taken on.
var ErrDeciding = errors.New("codons: no conversation begins in a decision")

var delegation = DelegationTable().MustCompile()

// Delegation is the protocol that makes every [Worker] answer TASK_REQUEST. The
// zero value works.
type Delegation Times

// Name returns "task-delegation".
func (Delegation) Name() string { return delegation.Name() }

// Opens reports whether m begins a delegation: a TASK_REQUEST, or its CANCEL where
// that comes first.
func (Delegation) Opens(m *performatives.Message) bool { return opens(m, delegation, true) }

// Bind returns the responder of a [Worker].
func (d Delegation) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	w, ok := agent.(Worker)
	if !ok {
		return nil
	}
	return &bench{places: places{limit: limitOf(agent)}, times: Times(d).withDefaults(), self: self, worker: recruitable{w}}
}
