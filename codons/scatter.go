package codons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Gather says how many answers of a [Scatter] are wanted. The zero value is [AllOf].
type Gather struct {
	quorum int // answers that are wanted; 0 means one of each
	best   func(Answer) float64
}

// AllOf wants the answer of each agent: without one of them, none is of use.
func AllOf() Gather { return Gather{} }

// FirstOf wants one answer, the first.
func FirstOf() Gather { return Quorum(1) }

// Quorum wants the first k answers, at least one.
func Quorum(k int) Gather { return Gather{quorum: max(k, 1)} }

// BestOf waits for all agents, some of which may fail, and wants the answer with the
// highest score; of equals, that of who was named first. score runs on the caller's
// goroutine.
func BestOf(score func(Answer) float64) Gather { return Gather{best: score} }

// bounds are how many of n answers are enough, and how many are the least.
func (g Gather) bounds(n int) (enough, least int) {
	switch {
	case g.best != nil:
		return n, 1
	case g.quorum > 0:
		return g.quorum, g.quorum
	}
	return n, n
}

// Answer is what one of many agents has answered.
type Answer struct {
	Agent  performatives.AgentID
	Result performatives.InformResult
	Err    error // an [*EndError] of one that has not completed the task, or was cancelled since enough others had
}

// Scattered is a task that many agents were given.
type Scattered struct {
	Answers []Answer // of each agent, in the order in which they were named
	Best    int      // of [BestOf], which of them; else the first, as they were named, that has completed the task
}

// QuorumError says that too few agents completed a task. errors.Is and errors.As find
// the reasons of all of them.
type QuorumError struct {
	Want, Got int
	Answers   []Answer // of each agent
}

// Error says how many, and the reasons.
func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "codons: %d of %d wanted answers", e.Got, e.Want)
	for _, a := range e.Answers {
		if a.Err != nil {
			fmt.Fprintf(&b, "; %v", a.Err)
		}
	}
	return b.String()
}

// Unwrap returns the reasons.
func (e *QuorumError) Unwrap() []error {
	var errs []error
	for _, a := range e.Answers {
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
	}
	return errs
}

// Scatter delegates a task to many agents at once and gathers their answers. As soon
// as it is decided, since there are enough answers or since enough can no longer come,
// the rest gets CANCEL; Scatter returns when all have ended ([ScatterRules]). An
// answer is a result, also a partial one, and also one that is no
// ([performatives.StatusFailure]). Answers that come in spite of the CANCEL are
// given, too, so there may be more than were wanted.
//
// ctx is for all of them, as for [Delegate]; each option is for each. Below a
// conversation that has a budget, each gets an equal part of what is left, but of what
// [WithBudget] names, that much each. The error is a
// [*QuorumError], or says what is wrong with the task, or that p cannot begin. It must
// not be called on an agent's own actor.
func Scatter(ctx context.Context, p Party, to []performatives.AgentID, task performatives.TaskRequest, g Gather, opts ...DelegateOption) (Scattered, error) {
	enough, least := g.bounds(len(to))
	if len(to) == 0 || least > len(to) {
		return Scattered{}, &QuorumError{Want: max(least, 1)}
	}
	members, err := scatter(ctx, p, to, task, ScatterRules(enough, least), opts)
	if err != nil {
		return Scattered{}, err
	}
	s := Scattered{Best: -1}
	got := 0
	for i, d := range members {
		a := Answer{Agent: to[i]}
		a.Result, a.Err = d.Wait()
		s.Answers = append(s.Answers, a)
		if a.Err == nil {
			got++
		}
	}
	if got < least {
		return Scattered{}, &QuorumError{Want: least, Got: got, Answers: s.Answers}
	}
	s.Best = g.choose(s.Answers)
	return s, nil
}

// scatter has the members run to their ends.
func scatter(ctx context.Context, p Party, to []performatives.AgentID, task performatives.TaskRequest, rules machine.Coordination, opts []DelegateOption) ([]*Delegated, error) {
	c := newCoordinator(rules, withdrawing)
	opts = append(slices.Clone(opts), parted(ctx, len(to)))
	members := make([]*Delegated, 0, len(to))
	for _, id := range to {
		d, err := newDelegation(ctx, p, id, task, opts)
		if err == nil {
			err = c.begin(ctx, p.Self(), delegation, &d.asker, d)
		}
		if end := (*EndError)(nil); errors.As(err, &end) {
			err = &QuorumError{Want: 1, Answers: []Answer{{Agent: id, Err: end}}} // ctx has ended already
		}
		if err != nil {
			return nil, c.giveUp(err)
		}
		members = append(members, d)
	}
	c.start(ctx, p.Self())
	awaitEnd(p.Self(), c.done)
	return members, c.failed()
}

// withdrawing is the decision of all rules: there is nothing to choose.
func withdrawing(_ context.Context, r *machine.Rule, at []machine.State) ([]order, error) {
	orders := make([]order, len(at))
	for _, i := range r.About(at) {
		orders[i] = order{command: r.Say[0].Command}
	}
	return orders, nil
}

// choose returns which answer is the best.
func (g Gather) choose(answers []Answer) int {
	best, top := -1, 0.0
	for i, a := range answers {
		if a.Err != nil {
			continue
		}
		score := 0.0
		if g.best != nil {
			score = g.best(a)
		}
		if best < 0 || cmp.Less(top, score) { // what is not a number is less than all that are
			best, top = i, score
		}
	}
	return best
}
