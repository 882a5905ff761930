package swarm

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Debugger does the debugging for [Jules]. Several goroutines call Debug at the same
// time. Debug should return soon after ctx ends, and calls report before each of its
// steps. The status of its result is success only with a fix that is expected to work.
// The Details of the result should be a [Finding]. The asker receives an error as
// FAILURE: a [*performatives.Refusal] with its code and text, any other error without
// its text.
type Debugger interface {
	Debug(ctx context.Context, p Problem, report func(step string)) (performatives.InformResult, error)
}

// Offline is the built-in [Debugger]. It analyses the traceback and the source with
// package pydebug, which fixes common causes of IndexError, KeyError and
// ZeroDivisionError in Python. The zero value works.
type Offline struct {
	// Verify runs the original and the fixed script with python3, and sets
	// Finding.TestsPassed. It executes the script of the task with the rights of this
	// process: set it only for trusted code.
	Verify bool
}

// Debug implements [Debugger].
func (o Offline) Debug(ctx context.Context, p Problem, report func(string)) (performatives.InformResult, error) {
	in := pydebug.Input{Code: p.Code, Traceback: p.Traceback, FileName: baseName(p.FileName), Language: p.Language}
	d, err := pydebug.Diagnose(ctx, in, report)
	switch {
	case errors.Is(err, pydebug.ErrCodeTooLarge), errors.Is(err, pydebug.ErrTracebackTooLarge):
		return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: err.Error()}
	case err != nil:
		return performatives.InformResult{}, err
	}
	return o.result(ctx, p, d, report)
}

func (o Offline) result(ctx context.Context, p Problem, d pydebug.Diagnosis, report func(string)) (performatives.InformResult, error) {
	f := Finding{OriginalCode: p.Code, Line: d.Line, Expression: d.Expression, Error: errorOf(d)}
	switch d.Status {
	case pydebug.NeedsInput:
		f.RequestForUser, f.Analysis = d.RequestForUser, d.Summary
		f.Traceback, f.FileName = p.Traceback, p.FileName
		return inform(performatives.StatusPartial, d.Summary, f), nil
	case pydebug.Unfixed:
		f.Analysis = d.Analysis
		return inform(performatives.StatusFailure, d.Summary, f), nil
	case pydebug.Fixed:
	}
	f.FixedCode, f.Diff, f.Explanation, f.Confidence = d.FixedCode, d.Diff, d.Explanation, d.Confidence
	if o.Verify {
		return verify(ctx, d, f, report)
	}
	return inform(performatives.StatusSuccess, d.Summary, f), nil
}

// errorOf returns the last line of the traceback.
func errorOf(d pydebug.Diagnosis) string {
	if d.ErrorMessage == "" {
		return d.ErrorType
	}
	return d.ErrorType + ": " + d.ErrorMessage
}

func inform(s performatives.TaskStatus, summary string, f Finding) performatives.InformResult {
	return performatives.InformResult{Status: s, Summary: summary, Details: performatives.ContentOf(f)}
}
