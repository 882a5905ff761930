package codons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrNotOpen says that no approval of that number waits for a decision: it was decided
// or withdrawn, its deadline has passed, or there never was one.
var ErrNotOpen = errors.New("codons: no such approval is open")

// ApprovalQueue is an [Approver] for a person: it holds the steps that wait, and program
// code decides about them, on behalf of whoever sits at a terminal or a web page. It is
// the agent itself, one value for its whole life:
//
//	queue := &codons.ApprovalQueue{}
//	err := node.Spawn(ctx, "Manager", func() actors.Agent { return queue })
//
// The zero value works. All its methods may be called from any goroutine; the fields
// must not change once it runs.
type ApprovalQueue struct {
	Capabilities performatives.Capabilities // what discovery sees
	Limit        int                        // how many may wait, others are refused as busy; see [Limited]

	mu      sync.Mutex
	last    int // the number of the latest
	open    []*queued
	arrival chan struct{} // closed by the next one; nil when nobody waits for that
}

// OpenApproval is a step that waits for a decision.
type OpenApproval struct {
	ID    int // counted from 1 in the order of arrival
	Step  Step
	From  performatives.AgentID // who will take the step
	Since time.Time
	Until time.Time       // a later decision comes too late
	Done  <-chan struct{} // closed when no decision is wanted any more, or there is one
}

// queued is one approval with the handler that waits for it.
type queued struct {
	OpenApproval
	ctx     context.Context //nolint:containedctx // of the handler, which owns it
	verdict chan Verdict
}

// Describe returns the capabilities.
func (q *ApprovalQueue) Describe() performatives.Capabilities { return q.Capabilities }

// MaxTasks returns the limit.
func (q *ApprovalQueue) MaxTasks() int { return q.Limit }

// DecideStep says that the step is seen, and waits for [ApprovalQueue.Approve] or
// [ApprovalQueue.Deny].
func (q *ApprovalQueue) DecideStep(ctx context.Context, s ProposedStep) (Verdict, error) {
	w := q.add(ctx, s)
	defer q.remove(w.ID)
	if err := s.Seen(); err != nil {
		return Verdict{}, err
	}
	select {
	case v := <-w.verdict:
		return v, nil
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
}

func (q *ApprovalQueue) add(ctx context.Context, s ProposedStep) *queued {
	until, _ := ctx.Deadline() // a handler always has one
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	w := &queued{
		OpenApproval{q.last, s.Step, s.Message.Sender(), time.Now(), until, ctx.Done()},
		ctx, make(chan Verdict, 1),
	}
	q.open = append(q.open, w)
	if q.arrival != nil {
		close(q.arrival)
		q.arrival = nil
	}
	return w
}

// remove takes an approval out of the queue and returns it, nil if it is not there.
func (q *ApprovalQueue) remove(id int) *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.open, func(w *queued) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	w := q.open[i]
	q.open = slices.Delete(q.open, i, i+1)
	return w
}

// Open returns what waits for a decision, the oldest first.
func (q *ApprovalQueue) Open() []OpenApproval {
	q.mu.Lock()
	defer q.mu.Unlock()
	open := make([]OpenApproval, 0, len(q.open))
	for _, w := range q.open {
		if w.ctx.Err() == nil {
			open = append(open, w.OpenApproval)
		}
	}
	return open
}

// Next returns the oldest that waits of those after a number, 0 for any, and waits
// until there is one. The error is why ctx has ended.
func (q *ApprovalQueue) Next(ctx context.Context, after int) (OpenApproval, error) {
	for {
		arrival := q.arrives()
		for _, w := range q.Open() {
			if w.ID > after {
				return w, nil
			}
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			return OpenApproval{}, context.Cause(ctx)
		}
	}
}

// arrives is closed when another one arrives.
func (q *ApprovalQueue) arrives() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.arrival == nil {
		q.arrival = make(chan struct{})
	}
	return q.arrival
}

// Approve decides that a step may be taken. The reason may be empty. The error is
// [ErrNotOpen].
func (q *ApprovalQueue) Approve(id int, reason string) error {
	return q.decide(id, Verdict{Accepted: true, Reason: reason})
}

// Deny decides that a step must not be taken. The reason may be empty. The error is
// [ErrNotOpen].
func (q *ApprovalQueue) Deny(id int, reason string) error {
	return q.decide(id, Verdict{Reason: reason})
}

func (q *ApprovalQueue) decide(id int, v Verdict) error {
	w := q.remove(id)
	if w == nil || w.ctx.Err() != nil {
		return fmt.Errorf("%w: %d", ErrNotOpen, id)
	}
	w.verdict <- v
	return nil
}
