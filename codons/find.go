package codons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Directory knows agents that may have what is looked for: yellow pages.
type Directory interface {
	// Find returns the agents to ask, the likeliest first. Each of them is asked
	// itself, so a directory may be out of date.
	Find(ctx context.Context, capabilities []string) ([]performatives.AgentID, error)
}

// Agents is a [Directory] that names the same agents for all that is looked for.
type Agents []performatives.AgentID

// Find returns a.
func (a Agents) Find(context.Context, []string) ([]performatives.AgentID, error) { return a, nil }

// Search is whom a task is for.
type Search struct {
	Among Directory // required
	Need  []string  // capabilities that the agent must have, all of them; none takes all who answer
	// AskTime is how long agents may take to say what they can do. Zero means a quarter
	// of the time there is, and no more than [DefaultAskTime].
	AskTime time.Duration
	// Rank orders those that have what is needed, the best first. Nil keeps the order
	// of the directory.
	Rank func(a, b Candidate) int
}

// DefaultAskTime is how long agents have to say what they can do, at most.
const DefaultAskTime = 5 * time.Second

// Found is a task that one of several agents has performed.
type Found struct {
	Agent   performatives.AgentID // who did it
	Result  performatives.InformResult
	Earlier []Attempt // who was asked before, in that order
}

// Attempt is an agent that was asked to perform a task and did not.
type Attempt struct {
	Agent performatives.AgentID
	Err   error // why not, mostly an [*EndError]
}

// NobodyError says that no agent performed a task. errors.Is and errors.As find the
// reasons of all of them.
type NobodyError struct {
	Task     string    // its type
	Attempts []Attempt // in the order in which they were asked; empty when there was no one to ask
}

// Error names everyone who was asked, and their reasons.
func (e *NobodyError) Error() string {
	if len(e.Attempts) == 0 {
		return fmt.Sprintf("codons: nobody to perform %s", e.Task)
	}
	reasons := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		reasons[i] = a.Err.Error()
	}
	return fmt.Sprintf("codons: nobody performed %s: %s", e.Task, strings.Join(reasons, "; "))
}

// Unwrap returns the reasons.
func (e *NobodyError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	return errs
}

// SafeToRepeat says that it does no harm if the task is carried out more than once,
// or by one agent halfway and by another in full: see [DelegateToAny].
func SafeToRepeat() DelegateOption {
	return delegateOption(func(o *delegateOptions) { o.repeatable = true })
}

// FindAndDelegate finds an agent that can perform a task, and has it do so (rossnet
// §5.2): it asks those that the directory names what they can do ([WhisperAll]), ranks
// those that have what is needed, and goes on as [DelegateToAny]. It is a composition
// of [WhisperTable] and [DelegationTable].
func FindAndDelegate(ctx context.Context, p Party, s Search, task performatives.TaskRequest, opts ...DelegateOption) (Found, error) {
	ctx, done := bounded(ctx)
	defer done()
	to, err := s.candidates(ctx, p, task)
	if err != nil {
		return Found{}, err
	}
	return DelegateToAny(ctx, p, to, task, opts...)
}

// DelegateToAny delegates a task to the first of several agents that takes it on. Each
// has its share of the time that is left, for all that come after have one too. Who
// rejects the task, is busy, does not understand it or does not take it on in its
// share of time (it is cancelled, and its end awaited) is followed by the next. Who
// has taken it on has all the time there is, and how it ends is the end: a second
// agent might do again what the first has half done. With [SafeToRepeat], the share
// is for all of the work, and a failure is followed by the next, too.
//
// The time is ctx's, or else [DefaultDeadline]. When ctx is cancelled, the agent at
// work gets CANCEL, and nobody else is asked. Below a conversation that has a budget,
// one that never said what it has used may have used all that it was given: leave
// something for those that come after it, by [WithBudget]. The error is a
// [*NobodyError], or says what is wrong with the task, or that p cannot begin. It must
// not be called on an agent's own actor.
func DelegateToAny(ctx context.Context, p Party, to []performatives.AgentID, task performatives.TaskRequest, opts ...DelegateOption) (Found, error) {
	ctx, done := bounded(ctx)
	defer done()
	var found Found
	for i, id := range to {
		t := try{share: share(ctx, len(to)-i)}
		result, err := t.delegate(ctx, p, id, task, opts)
		if err == nil {
			found.Agent, found.Result = id, result
			return found, nil
		}
		var end *EndError
		if !errors.As(err, &end) {
			return found, err // p's own fault
		}
		found.Earlier = append(found.Earlier, Attempt{id, err})
		if ctx.Err() != nil || !t.mayFollow(end) {
			break
		}
	}
	return Found{}, &NobodyError{task.TaskType, found.Earlier}
}

// bounded gives ctx a deadline if it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultDeadline)
}

// share is what one of n gets of the time that is left.
func share(ctx context.Context, n int) time.Duration {
	by, _ := ctx.Deadline()
	return time.Until(by) / time.Duration(n)
}

// candidates asks who can do it, and returns them in their order.
func (s Search) candidates(ctx context.Context, p Party, task performatives.TaskRequest) ([]performatives.AgentID, error) {
	ids, err := s.Among.Find(ctx, s.Need)
	if err != nil {
		return nil, fmt.Errorf("codons: find agents for %s: %w", task.TaskType, err)
	}
	query := performatives.QueryCapabilities{Type: performatives.QuerySummary}
	if len(s.Need) > 0 {
		query.Type, query.Parameters.Capabilities = performatives.QuerySpecific, s.Need
	}
	asking, done := context.WithTimeout(ctx, cmp.Or(s.AskTime, min(share(ctx, 4), DefaultAskTime)))
	defer done()
	found, err := WhisperAll(asking, p, ids, query)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c Candidate) bool { return !c.Match })
	if s.Rank != nil {
		slices.SortStableFunc(found, s.Rank)
	}
	to := make([]performatives.AgentID, len(found))
	for i, c := range found {
		to[i] = c.Agent
	}
	return to, nil
}

// try is one agent's chance.
type try struct {
	share      time.Duration
	repeatable bool
	accepted   chan struct{} // closed once the agent has taken the task on
}

func (t *try) delegate(ctx context.Context, p Party, to performatives.AgentID, task performatives.TaskRequest, opts []DelegateOption) (performatives.InformResult, error) {
	t.accepted = make(chan struct{})
	var with delegateOptions
	for _, opt := range opts {
		opt.delegate(&with)
	}
	if t.repeatable = with.repeatable; t.repeatable {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, t.share)
		defer done()
	}
	d, err := StartDelegation(ctx, p, to, task, append(slices.Clone(opts), delegateOption(t.listen))...)
	if err != nil {
		return performatives.InformResult{}, err
	}
	return t.await(p.Self(), d)
}

// listen learns of the acceptance before the caller's own functions do. Progress
// implies it.
func (t *try) listen(o *delegateOptions) {
	onAccept, onProgress := o.onAccept, o.onProgress
	o.onAccept = func(a performatives.TaskAccept) {
		t.take()
		if onAccept != nil {
			onAccept(a)
		}
	}
	o.onProgress = func(u performatives.StatusUpdate) {
		t.take()
		if onProgress != nil {
			onProgress(u)
		}
	}
}

// take notes the acceptance. It runs on the conversation's actor.
func (t *try) take() {
	if !t.taken() {
		close(t.accepted)
	}
}

func (t *try) taken() bool {
	select {
	case <-t.accepted:
		return true
	default:
		return false
	}
}

// await withdraws a task that nobody has taken on in its time.
func (t *try) await(self actors.Self, d *Delegated) (performatives.InformResult, error) {
	if t.repeatable {
		return d.Wait() // the share is its deadline
	}
	stop := self.System().AfterFunc(t.share, func() {
		if !t.taken() {
			d.Cancel()
		}
	})
	defer stop()
	return d.Wait()
}

// mayFollow reports whether another agent may be given a task that ended so.
func (t *try) mayFollow(end *EndError) bool {
	if t.repeatable {
		return true
	}
	switch end.State { //nolint:exhaustive // the states in which the task was never taken on, as far as one can tell
	case stateRejected, stateNotUnderstood:
		return true
	case stateTimedOut, stateCancelled:
		return !t.taken()
	}
	return false
}
