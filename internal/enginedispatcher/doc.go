// Package enginedispatcher says which dispatcher an actor system has by default.
//
// A program built with the tag enginedispatcher runs its actors on the engine's own dispatcher,
// which gives each turn of a mailbox a goroutine of its own. The pool of package actors runs
// as many turns at a time as there are cores, so the race detector sees fewer interleavings
// with it. The tag is for tests: see make race-engine.
package enginedispatcher
