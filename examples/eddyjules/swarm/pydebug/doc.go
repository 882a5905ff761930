// Package pydebug debugs a small family of Python failures without running
// anything: given a script and the traceback it died with, it finds the failing
// expression, recognises the shape of the mistake and writes a minimal fix.
//
// It knows IndexError, KeyError and ZeroDivisionError. It answers with one of
// three statuses: [Fixed] with a changed source and a diff, [NeedsInput] with a
// request to the user, or [Unfixed] with an analysis. A change that only moves
// the crash to another line is rejected, so that some failures stay unfixed.
//
// # How it works
//
// The traceback is read first (traceback.go), then the source is cut into
// tokens (tokenize.go), expressions (expr.go) and statements (stmt.go), so that
// text in strings and comments is never taken for code. The reported line
// selects a statement, and the candidates in it: the operations that can raise
// this error (candidate.go, locate.go). Each candidate has a hazard: the Python
// condition under which it is safe (hazard.go). A recogniser for each error type
// (index.go, key.go, zero.go) then either rewrites the mistake itself, such as
// a loop's bound, or passes the hazard to the planner (plan.go), which inserts
// the condition: as a continue in a loop, a return in a function, a filter in a
// comprehension. Where a value is needed instead, filler.go chooses it. The
// changed source is searched for further operations that fail for the same
// reason, and these are fixed too (remaining.go).
//
// # Bounds
//
// Inputs are untrusted. Their size is limited by [MaxCode] and [MaxTraceback],
// nesting and candidates are capped, and [Diagnose] executes nothing. Only
// [Verify] runs Python.
//
// # Concurrency
//
// There is no shared state; every function may be called from any goroutine.
package pydebug
