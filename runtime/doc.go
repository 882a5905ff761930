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
// # Peers
//
// Agents of other processes come by sessions of package wire. At the node that they
// connect to, [Peers] is the handler of its server:
//
//	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
//	server, err := wire.NewServer(wire.Options{Handler: peers, …})
//	…
//	err = server.Stop(ctx) // first: peers are told, and what they wait for ends
//	err = node.Stop(ctx)
//
// Whoever speaks is an agent of the node under its own id from then on, hidden until it
// introduces itself by a QUERY_CAPABILITIES with its own Capabilities: to the
// namespace system, to the node's name, without a receiver, or to an agent, as a
// handshake. A namespace is who an agent's id begins with, up to a slash; system and
// default are all. It answers QUERY_CAPABILITIES with the actions of its agents and
// gives a TASK_REQUEST to the first of them, by id, that has the action and has not
// sent it. An agent of that very id comes before a namespace. The peer gets its answers
// in the name of the namespace, and goes on with the task under that name. system lists its agents by QUERY_REF "agents".
//
// At the other end, an [Uplink] leads a node to the agents of another:
//
//	up, err := node.Uplink(runtime.UplinkOptions{Dial: …})
//	err = up.Connect(ctx)
//	result, err := node.Delegate(ctx, "Jules", task)
//	err = node.Stop(ctx)
//	err = up.Stop(ctx) // last: it carries the node's last words
//
// When a session ends, who waits for an answer by it is told at once: by FAILURE
// (disconnected) in the name of who would have answered. What is worked on for its
// agents is withdrawn by CANCEL. What goes to them while they are away is refused.
// Broadcasts of a node reach the agents that have introduced themselves; of a peer's
// broadcast nobody keeps account, nor do those of a node leave it by its uplink.
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
