// Package pyexplain describes Python code by its structure: its functions with their parameters,
// loops, calls and results, its classes and its imports. It executes nothing, and says nothing
// about the purpose of the code.
//
// # Concurrency
//
// There is no shared state; every function may be called from any goroutine.
package pyexplain
