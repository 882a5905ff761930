// Package pydebug debugs a small family of Python failures without running
// anything: given a script and the traceback it died with, it finds the failing
// expression, recognises the shape of the mistake and writes a minimal fix.
//
// It knows IndexError, KeyError and ZeroDivisionError. It answers with one of
// three statuses: [Fixed] with a changed source and a diff, [NeedsInput] with a
// request for the person who asked, or [Unfixed] with what it found out. It is
// deliberately shy: a change that would only move the crash to another line is
// not a fix.
//
// # How it works
//
// The traceback is read first (traceback.go), then the source is cut into
// tokens (tokenize.go), expressions (expr.go) and statements (stmt.go), so that
// text in strings and comments is never taken for code. The reported line leads
// to a statement and the operations in it that can raise this error
// (candidate.go, locate.go). Each such operation has a hazard: the Python
// condition under which it is safe (hazard.go). A recogniser for each family
// (index.go, key.go, zero.go) then either rewrites the mistake itself, such as
// a loop's bound, or hands the hazard to the planner (plan.go), which puts the
// condition where the control flow wants it: a continue in a loop, a return in
// a function, a filter in a comprehension.
//
// # Bounds
//
// Inputs are untrusted. Their size is limited by [MaxCode] and [MaxTraceback],
// nesting and candidates are capped, and nothing is executed: running Python is
// left to [Verify], which a caller has to ask for.
//
// # Concurrency
//
// There is no shared state; every function may be called from any goroutine.
package pydebug
