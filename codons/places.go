package codons

import (
	"fmt"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
)

// Limited is an agent with a limit of its own on how much it does at a time.
type Limited interface {
	actors.Agent
	// MaxTasks is how many tasks may run at a time, and how many handlers of each
	// other codon; the next is turned down as busy.
	// A restart of the agent forgets the handlers that still run.
	// It is read once. A number below 1 means [DefaultMaxTasks].
	MaxTasks() int
}

// DefaultMaxTasks is how many tasks an agent performs at a time unless it is
// [Limited].
const DefaultMaxTasks = 1024

// places are the room that an agent has for handlers of one codon.
type places struct {
	limit int64
	taken atomic.Int64
}

// place is the room for one handler, from before the agent is asked until the
// handler has returned or is not to run at all.
type place struct {
	of   *places
	gone atomic.Bool
}

// limitOf is how many handlers of one codon an agent may run at a time.
func limitOf(agent actors.Agent) int64 {
	if l, ok := agent.(Limited); ok && l.MaxTasks() > 0 {
		return int64(l.MaxTasks())
	}
	return DefaultMaxTasks
}

// take returns a place, or nil when there is none.
func (p *places) take() *place {
	if p.taken.Add(1) > p.limit {
		p.taken.Add(-1)
		return nil
	}
	return &place{of: p}
}

// full says that there is none.
func (p *places) full() string {
	return fmt.Sprintf("%d tasks are under way, which is the limit", p.limit)
}

// giveBack makes room. Nil, and doing it again, does nothing.
func (p *place) giveBack() {
	if p != nil && p.gone.CompareAndSwap(false, true) {
		p.of.taken.Add(-1)
	}
}
