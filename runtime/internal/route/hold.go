package route

import (
	"context"
	"sync/atomic"
	"time"
)

// The times for which a message waits: first, for an agent that moves, and for an agent or a sender
// of a node that this one does not know yet. How many messages may wait.
const (
	firstWait    = 10 * time.Millisecond
	longWait     = 640 * time.Millisecond
	strangerWait = 4 * longWait
	maxWaiting   = 1 << 12
)

// Hold is where messages wait that cannot be routed yet: see [Wait]. Each waits for twice as long
// as the last time. Safe for concurrent use.
type Hold struct {
	ctx     context.Context // ends with the node
	work    func(func())
	pause   func(context.Context, time.Duration) bool
	waiting atomic.Int64
}

// NewHold returns a hold until ctx ends. work runs a function on another goroutine, and pause waits
// until a time has passed or ctx ends.
func NewHold(ctx context.Context, work func(func()), pause func(context.Context, time.Duration) bool) *Hold {
	return &Hold{ctx: ctx, work: work, pause: pause}
}

// Again has a message tried again, which has waited for some time since it was tried last: zero at
// first. It reports false if that was the longest time, too many messages wait, or the node stops.
func (h *Hold) Again(waited, limit time.Duration, try func(waited time.Duration)) bool {
	next := max(firstWait, 2*waited)
	if next > limit || h.ctx.Err() != nil {
		return false
	}
	if h.waiting.Add(1) > maxWaiting {
		h.waiting.Add(-1)
		return false
	}
	h.work(func() {
		h.pause(h.ctx, next)
		h.waiting.Add(-1)
		try(next)
	})
	return true
}
