package codons

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TaskLimiter is an agent with its own limit of handlers under way.
type TaskLimiter interface {
	actors.Agent
	// MaxTasks returns the largest number of handlers of one codon that may be under way at a
	// time. It is an upper bound: a node whose processors are behind has fewer under way. A further
	// request is refused as busy. A number below 1 means [DefaultMaxTasks].
	// It is called once for each codon when the agent starts. Handlers that outlive a restart of
	// the agent do not count.
	MaxTasks() int
}

// DefaultMaxTasks is the largest number of handlers of one codon that an agent has under way at
// a time unless it is [TaskLimiter]. It is an upper bound, as [TaskLimiter] says. Beyond it there
// is room for 64 more requests of URGENT and HIGH priority.
const DefaultMaxTasks = 2048

// expeditedTasks is that room.
const expeditedTasks = 64

// limiter bounds the number of conversations of one codon that an agent works on at a time.
type limiter struct {
	limit     int64
	expedited int64 // how many more of URGENT and HIGH priority
	inUse     atomic.Int64
}

// slot is the permission to work on one conversation. It is taken before the agent decides about
// the request and released when the last handler has returned.
type slot struct {
	of       *limiter
	permit   actors.Permit
	released atomic.Bool
}

// newLimiter returns the limiter of an agent.
func newLimiter(agent actors.Agent) limiter {
	if l, ok := agent.(TaskLimiter); ok && l.MaxTasks() > 0 {
		return limiter{limit: int64(l.MaxTasks())}
	}
	return limiter{limit: DefaultMaxTasks, expedited: expeditedTasks}
}

// take returns a slot, or nil when all are taken.
func (l *limiter) take(priority performatives.Priority) *slot {
	limit := l.limit
	if priority > performatives.Normal {
		limit += l.expedited
	}
	if l.inUse.Add(1) > limit {
		l.inUse.Add(-1)
		return nil
	}
	return &slot{of: l}
}

// admit returns a slot for the work on a request, or why there is none: all slots are taken, or
// the node has no room. The deadline is that of the request.
func (r *Responder) admit(m *performatives.Message, deadline time.Time) (*slot, *performatives.Refusal) {
	s := r.take(m.Priority())
	if s == nil {
		return nil, &performatives.Refusal{Code: performatives.CodeBusy, Text: fmt.Sprintf("%d tasks are under way, which is the limit", r.limit)}
	}
	if r.longLived {
		deadline = time.Time{}
	}
	if busy := r.agent.Admit(&s.permit, m, ParentOf(m) != "", deadline); busy != nil {
		s.release()
		return nil, busy
	}
	return s, nil
}

// release releases the slot. A nil slot and a second release do nothing.
func (s *slot) release() {
	if s != nil && s.released.CompareAndSwap(false, true) {
		s.of.inUse.Add(-1)
		s.permit.Release()
	}
}
