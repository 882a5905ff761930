package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// outcome is how the whole ended, in a word: a task_status, or how the user's
// conversation ended.
func outcome(r performatives.InformResult, err error) string {
	var end *codons.EndError
	switch {
	case err == nil:
		return string(r.Status)
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, performatives.CodeTimeout), errors.Is(err, performatives.CodeExpired):
		return "timed_out" // whichever side noticed first, also before anything began
	case errors.As(err, &end):
		return string(end.State)
	}
	return "error"
}

// complaint is the line for stderr, or nothing when all is well.
func complaint(r performatives.InformResult, err, printing error) string {
	switch {
	case err != nil:
		return explain(err)
	case printing != nil:
		return oneLine(printing.Error())
	case r.Status == performatives.StatusFailure:
		return oneLine("no fix was found: " + r.Summary + " See the analysis, and mend it by hand.")
	}
	return ""
}

// explain says in one line why there is no result, and what to do.
func explain(err error) string {
	var end *codons.EndError
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted before there was a result; run it again"
	case errors.Is(err, performatives.CodeTimeout), errors.Is(err, performatives.CodeExpired), errors.Is(err, context.DeadlineExceeded):
		return "the deadline passed before there was a result; try again with a longer --deadline"
	case errors.As(err, &end):
		reason := end.Refusal
		reason.From = ""
		advice := "this will not change by trying again"
		if reason.Code.Traits().Retry {
			advice = "try again"
		}
		return oneLine(fmt.Sprintf("%s gave no result: %s; %s", end.Peer, reason.Error(), advice))
	}
	return oneLine(err.Error())
}

// printing is the error of an output. Who closed the pipe early, as head does, has
// seen enough: that is none.
func printing(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno // without the name of the file, which is stdout
	}
	return fmt.Errorf("the output is not complete: %w; run it again where there is room for it", err)
}
