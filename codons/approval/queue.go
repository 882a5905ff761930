package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrNotOpen says that no step with that number waits for a decision: it was decided or
// withdrawn, its deadline has passed, or it never existed.
var ErrNotOpen = errors.New("approval: no open step with this number")

// Queue is an [Approver] for a person. It holds the steps that wait for a decision; the
// program shows them, at a terminal or on a web page, and calls [Queue.Approve] or
// [Queue.Deny]. The Queue itself is the agent, one value for all restarts:
//
//	queue := &approval.Queue{}
//	err := node.Spawn(ctx, "Manager", func() actors.Agent { return queue })
//
// The zero value works. All methods may be called from any goroutine. The fields must not
// change after the agent has started.
type Queue struct {
	Capabilities performatives.Capabilities // the description of the agent
	Limit        int                        // the largest number of open steps; more are refused as busy. Zero is the default of [codons.TaskLimiter]

	mu      sync.Mutex
	last    int // the number of the latest step
	open    []*queued
	arrival chan struct{} // closed when the next step arrives; nil if no Next waits
}

// Open is a step that waits for a decision.
type Open struct {
	ID           int // from 1, in the order of arrival
	Step         Step
	From         performatives.AgentID        // the agent that will take the step
	Conversation performatives.ConversationID // in which it asks
	Since        time.Time                    // of its arrival
	Until        time.Time                    // the deadline of the decision
	Done         <-chan struct{}              // closed when the step was decided, withdrawn, or its deadline has passed
}

// queued is one open step with the handler that waits for its verdict.
type queued struct {
	Open
	ctx     context.Context //nolint:containedctx // of the handler that waits
	verdict chan Verdict
}

// Describe returns the capabilities.
func (q *Queue) Describe() performatives.Capabilities { return q.Capabilities }

// MaxTasks returns Limit: see [codons.TaskLimiter].
func (q *Queue) MaxTasks() int { return q.Limit }

// DecideStep reports the step as seen, and waits for [Queue.Approve] or [Queue.Deny].
func (q *Queue) DecideStep(ctx context.Context, s ProposedStep) (Verdict, error) {
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

func (q *Queue) add(ctx context.Context, s ProposedStep) *queued {
	until, _ := ctx.Deadline() // a handler always has a deadline
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	w := &queued{
		Open{q.last, s.Step, s.Message.Sender(), s.Message.ConversationID(), time.Now(), until, ctx.Done()},
		ctx, make(chan Verdict, 1),
	}
	q.open = append(q.open, w)
	if q.arrival != nil {
		close(q.arrival)
		q.arrival = nil
	}
	return w
}

// remove removes a step from the queue and returns it, or nil if the queue does not hold it.
func (q *Queue) remove(id int) *queued {
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

// Open returns the steps that wait for a decision, the oldest first.
func (q *Queue) Open() []Open {
	q.mu.Lock()
	defer q.mu.Unlock()
	open := make([]Open, 0, len(q.open))
	for _, w := range q.open {
		if w.ctx.Err() == nil {
			open = append(open, w.Open)
		}
	}
	return open
}

// Next returns the oldest open step with a number above after, and blocks until there is one.
// Zero is below every number. The error is the cause of ctx's end.
func (q *Queue) Next(ctx context.Context, after int) (Open, error) {
	for {
		arrival := q.nextArrival()
		for _, w := range q.Open() {
			if w.ID > after {
				return w, nil
			}
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			return Open{}, context.Cause(ctx)
		}
	}
}

// nextArrival returns a channel that is closed when the next step arrives.
func (q *Queue) nextArrival() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.arrival == nil {
		q.arrival = make(chan struct{})
	}
	return q.arrival
}

// Approve approves the step with that number. The reason may be empty. The error is [ErrNotOpen].
func (q *Queue) Approve(id int, reason string) error {
	return q.decide(id, Verdict{Accepted: true, Reason: reason})
}

// Deny denies the step with that number. The reason may be empty. The error is [ErrNotOpen].
func (q *Queue) Deny(id int, reason string) error {
	return q.decide(id, Verdict{Reason: reason})
}

func (q *Queue) decide(id int, v Verdict) error {
	w := q.remove(id)
	if w == nil || w.ctx.Err() != nil {
		return fmt.Errorf("%w: %d", ErrNotOpen, id)
	}
	w.verdict <- v
	return nil
}
