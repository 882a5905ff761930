// Package watch checks the messages of agents against the tables of their codons while
// the agents run.
//
// A [Watch] subscribes to the event stream of a node. For each conversation that it sees
// from the opening act on, it runs the monitor of the codon's table
// ([machine.Progress]). A message that no run of the table can produce is published as a
// [lifecycle.Violation] on the same stream. The message itself is delivered all the same:
// the receiver's own table decides what becomes of it.
//
// The package knows no codon by itself: [Options] lists those to check. A node
// (runtime.Options.Watch) adds the codons of package library.
//
// # Ordering
//
// Messages are checked in the order in which their events were published. The violations
// are published later than the messages, in the same order.
//
// # Backpressure
//
// A Watch never delays a sender. An event that finds the queue of the Watch full is dropped
// and counted, and the rest of its conversation is not checked, because the next message may
// answer the dropped one. See [Options] and [Counts].
//
// # Shutdown
//
// [Watch.Stop] checks the queued messages and joins the goroutine of the Watch.
//
// # Concurrency
//
// All methods of a Watch may be called from any goroutine.
package watch
