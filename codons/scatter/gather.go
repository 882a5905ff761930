package scatter

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Gather says which answers a [Scatter] waits for. The zero value is [AllOf].
type Gather struct {
	quorum int // the number of answers; 0 means one from each agent
	best   func(Answer) float64
}

// AllOf waits for the answer of each agent. When one agent fails, the others are
// cancelled.
func AllOf() Gather { return Gather{} }

// FirstOf waits for the first answer.
func FirstOf() Gather { return Quorum(1) }

// Quorum waits for the first k answers. A k of less than 1 means 1.
func Quorum(k int) Gather { return Gather{quorum: max(k, 1)} }

// BestOf waits for all agents, some of which may fail, and picks the answer with the
// highest score. Of equal scores, that of the agent named first wins. score is called on
// the caller's goroutine; a score that is not a number is lower than all numbers.
func BestOf(score func(Answer) float64) Gather { return Gather{best: score} }

// bounds returns how many of n answers are enough, and the least number without which the
// scatter fails.
func (g Gather) bounds(n int) (enough, least int) {
	switch {
	case g.best != nil:
		return n, 1
	case g.quorum > 0:
		return g.quorum, g.quorum
	}
	return n, n
}

// pick returns the index of the best answer, -1 when there is none.
func (g Gather) pick(answers []Answer) int {
	best, top := -1, 0.0
	for i, a := range answers {
		if a.Err != nil {
			continue
		}
		score := 0.0
		if g.best != nil {
			score = g.best(a)
		}
		if best < 0 || cmp.Less(top, score) { // NaN is less than all numbers
			best, top = i, score
		}
	}
	return best
}

// Answer is the answer of one agent.
type Answer struct {
	Agent  performatives.AgentID
	Result performatives.InformResult
	// Err is nil for an answer, and an [*codons.EndError] for an agent that did not complete
	// the task or was cancelled.
	Err error
}

// Scattered is the result of a [Scatter].
type Scattered struct {
	Answers []Answer // of each agent, in the order in which the caller named them
	Best    int      // the index of the answer that [BestOf] picks; else of the first in Answers without an error
}

// QuorumError says that too few agents completed a task. errors.Is and errors.As find
// the error of each.
type QuorumError struct {
	Want, Got int
	Answers   []Answer // of each agent
}

// Error returns the numbers, and the error of each agent.
func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "scatter: %d of %d wanted answers", e.Got, e.Want)
	for _, a := range e.Answers {
		if a.Err != nil {
			fmt.Fprintf(&b, "; %v", a.Err)
		}
	}
	return b.String()
}

// Unwrap returns the error of each agent that has one.
func (e *QuorumError) Unwrap() []error {
	var errs []error
	for _, a := range e.Answers {
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
	}
	return errs
}

// MayHaveRun reports whether an agent completed the task although the scatter failed, so
// that a saga undoes the step ([saga.StepUnknown]). The errors that it wraps say the same
// of the other agents.
func (e *QuorumError) MayHaveRun() bool { return e.Got > 0 }
