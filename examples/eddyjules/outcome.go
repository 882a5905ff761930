package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

// complaint returns the error for stderr, or nil after a success.
func complaint(r performatives.InformResult, err, printing error) error {
	switch {
	case err != nil:
		return errors.New(explain(err))
	case printing != nil:
		return printing
	case r.Status == performatives.StatusFailure:
		return errors.New("no fix was found: " + r.Summary + " See the analysis, and mend it by hand.")
	}
	return nil
}

// explain returns one line for the user: the reason why there is no result, and advice.
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
		return program.OneLine(fmt.Sprintf("%s gave no result: %s; %s", end.Peer, reason.Error(), advice))
	}
	return program.OneLine(err.Error())
}
