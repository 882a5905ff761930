// Package pydebug debugs a small family of Python failures without running
// anything: given a script and the traceback it died with, it finds the failing
// expression, recognises the shape of the mistake and writes a minimal fix.
//
// It knows IndexError, KeyError and ZeroDivisionError. It answers with one of
// three statuses: [Fixed] with a changed source and a diff, [NeedsInput] with a
// request to the user, or [Unfixed] with the reason.
//
// # What it fixes
//
// A fix leaves out what can't be computed, where the control flow has a place for
// it: a for loop continues, a function without a result returns, a condition is
// false, a comprehension filters, a statement of the module that assigns nothing is
// skipped. Some mistakes are repaired themselves: a range that is longer than the
// list it counts through, a missing command-line argument, an in-place division, a
// key that is counted, collected into, deleted or popped for the first time, and
// set.remove.
//
// It doesn't fix what needs a value that the code doesn't tell: a result of a
// function, an assignment of the module, a computed index, a turn of a while loop.
// It also refuses a fix that only moves the error to a later operation, and one
// that leaves out the statement which would have given the missing value.
//
// # How it works
//
// The traceback is read first (traceback.go), then the source is cut into tokens
// (lexer.go), expressions (expr.go) and statements (parser.go), so that text in strings
// and comments is never taken for code. The reported line selects a statement, and the
// operations in it that can raise this error (locate.go). A table of the kinds of error
// (operation.go) says which these are, and which conditions make one safe (guard.go,
// hazard.go). Either the mistake itself is repaired (rewrite.go), or the condition is
// inserted (plan.go). The changed source is searched for further operations that fail
// for the same reason (remaining.go).
// Match statements, type parameters and Python 2 are not understood.
//
// # Bounds
//
// Inputs are untrusted. Their size is limited by [MaxCode] and [MaxTraceback],
// nesting and operations are capped, and [Diagnose] executes nothing. Only
// [Verify] runs Python.
//
// # Concurrency
//
// There is no shared state; every function may be called from any goroutine.
package pydebug
