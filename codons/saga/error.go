package saga

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrResumed is the cause of the [Error] of a saga that was resumed after a crash. The cause wraps
// it and has the text of the failure, where a step had failed before the crash.
var ErrResumed = errors.New("saga: it was interrupted, and is undone")

// Error is the error of a saga that did not complete. errors.Is and errors.As find the
// cause and the errors of the lost steps.
type Error struct {
	Step   string // the step that did not succeed; empty for a saga that crashed before one failed
	Cause  error  // the error of the step, or the end of ctx
	Undone []string
	Lost   []LostStep // the steps that could not be undone: an operator has to look after them
}

// LostStep is a step that could not be undone.
type LostStep struct {
	Step string
	Err  error
}

// Error names the failed step, the steps that were undone, and those that were not.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("saga: ")
	if e.Step != "" {
		fmt.Fprintf(&b, "step %s: ", e.Step)
	}
	b.WriteString(e.Cause.Error())
	if len(e.Undone) > 0 {
		fmt.Fprintf(&b, "; undone: %s", strings.Join(e.Undone, ", "))
	}
	for _, l := range e.Lost {
		fmt.Fprintf(&b, "; NOT undone: %s: %v", l.Step, l.Err)
	}
	return b.String()
}

// Unwrap returns the cause, and the errors of the lost steps.
func (e *Error) Unwrap() []error {
	errs := []error{e.Cause}
	for _, l := range e.Lost {
		errs = append(errs, l.Err)
	}
	return errs
}

// partial is an error of work that several agents shared. When MayHaveRun returns false,
// the errors that it wraps decide.
type partial interface {
	error
	MayHaveRun() bool
}

// StepUnknown reports whether a step that failed with err may have been done, so that it
// has to be undone, too. It is the default of [Step].Unknown.
//
// It is false when the peer rejected the work or could not carry it out, and when the
// error is about neither a conversation nor a deadline. It is true for a peer that did not
// answer, and for the end of a context. An error that wraps several is unknown when one of
// them is. An error with a method MayHaveRun() bool that returns true is unknown. An
// [*Error] is unknown when a step was lost.
func StepUnknown(err error) bool {
	switch e := err.(type) { //nolint:errorlint // the wrapped errors are examined below
	case *codons.EndError:
		return mayHaveRun(e)
	case *Error:
		return len(e.Lost) > 0
	case *actors.PanicError:
		return true
	case partial:
		if e.MayHaveRun() {
			return true
		}
	}
	if err == context.Canceled || err == context.DeadlineExceeded { //nolint:errorlint // the same
		return true
	}
	switch e := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		return StepUnknown(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), StepUnknown)
	}
	return false
}

// mayHaveRun reports whether the peer of a conversation may have done the work.
func mayHaveRun(e *codons.EndError) bool {
	switch e.State { //nolint:exhaustive // in any other state it may have
	case standard.StateRejected, standard.StateRefused, standard.StateNotUnderstood:
		return false
	case standard.StateFailed:
		switch e.Refusal.Code { //nolint:exhaustive // the other codes are of work that failed by itself
		case performatives.CodeStillRunning, performatives.CodeTimeout, performatives.CodeInternal,
			performatives.CodeBudget,            // an overdrawn budget is reported whatever the result of the work is
			performatives.CodeConversationEnded: // the work has ended, and its reply is no longer kept
			return true
		case performatives.CodeStopped, performatives.CodeUnknownAgent, performatives.CodeDisconnected, performatives.CodeExpired,
			performatives.CodeRateLimited, performatives.CodeUnauthorized, performatives.CodeForbidden: // the CANCEL was not delivered
			return true
		}
		return false
	}
	return true
}
