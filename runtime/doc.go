// Package runtime is the node: it assembles agents, codons and dialects, finds
// the receivers of messages, keeps the directory, writes the log, and stops
// everything in order.
//
//	node, err := runtime.New(runtime.Options{Name: "n1"})
//	err = node.Spawn(ctx, "Jules", func() actors.Agent { return &Jules{} })
//	result, err := node.Delegate(ctx, "Jules", performatives.TaskRequest{TaskType: "debug_code"})
//	err = node.Stop(ctx)
//
// With [Options.Watch] the node checks what its agents say against the tables of
// their codons.
//
// # Ordering
//
// Within a node a message is delivered at most once, in order per sender and
// band. See package actors.
//
// # Backpressure
//
// A message that cannot be delivered is refused to its sender or, when that does
// not wait for an answer, dead-lettered and counted: [Node.Counts]. Nothing
// vanishes.
//
// # Shutdown
//
// [Node.Stop] takes on nothing new, lets conversations finish within its
// deadline, ends the rest in a state of their tables, and joins every goroutine.
//
// # Concurrency
//
// A [Node] may be used from any goroutine. What waits must not be called on an
// agent's own actor.
package runtime
