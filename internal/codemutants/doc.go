// Package codemutants shows whether the tests notice faults of the code. Operators make the faults
// at the nodes of the syntax tree: a condition is negated, a statement is dropped, a constant is
// one more. They are put into a copy of the module, all at once, each behind a switch. A mutant is
// one of them, switched on while the tests run that reach it.
//
// Run it with make mutate-code, from the root of the module. It is a test of this package, with
// flags of its own behind -args.
package codemutants
