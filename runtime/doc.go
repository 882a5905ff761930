// Package runtime is the node. It assembles agents, codons and dialects, routes messages
// to their receivers, keeps the directory, writes the log, and stops everything in order.
//
//	node, err := runtime.New(runtime.Options{Name: "n1"})
//	err = node.Spawn(ctx, "Jules", func() actors.Agent { return &Jules{} })
//	result, err := node.Delegate(ctx, "Jules", performatives.TaskRequest{TaskType: "debug_code"})
//	err = node.Stop(ctx)
//
// With [Options.Watch] the node checks the messages of its agents against the tables of
// their codons.
//
// The parts of a node are the packages in internal, its rooms: docs/architecture.md has the way of
// a message through them.
//
// # Peers
//
// Agents of other processes are connected by sessions of package wire. On the node that
// accepts the connections, [Peers] is the handler of the server:
//
//	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
//	server, err := wire.NewServer(wire.Options{Handler: peers, …})
//	…
//	err = server.Stop(ctx) // before the node: ends pending requests and informs the peers
//	err = node.Stop(ctx)
//
// Each sender id of a session becomes an entry of the node's directory under the same id, whose
// destination is the session. The agent is hidden until the peer introduces itself: it sends a
// QUERY_CAPABILITIES with its own Capabilities to the namespace system, to the node's name, without
// a receiver, or to an agent as a handshake.
//
// A namespace is the part of an agent's id before a slash. The namespaces system and
// default, and the node's own name, contain all agents. An agent with the id of a
// namespace takes precedence over the namespace. A namespace answers QUERY_CAPABILITIES
// with the actions of its agents. It forwards a TASK_REQUEST to its first agent, by id,
// that has the action and is not the sender. The replies to the peer, and the peer's
// further messages of the task, use the name of the namespace. The namespace system also
// answers QUERY_REF "agents" with a list of the agents.
//
// On the connecting node, an [Uplink] connects the node to the agents of another node. A node has
// one at most:
//
//	up, err := node.Uplink(runtime.UplinkOptions{Dial: …})
//	err = up.Connect(ctx)
//	result, err := node.Delegate(ctx, "Jules", task)
//	err = node.Stop(ctx)
//	err = up.Stop(ctx) // after the node: it sends the node's final messages
//
// When a session ends, its agents leave the directory, and the conversations with them lose their
// peers ([actors.System.LosePeers]): their tables say how they end. A request that has no
// conversation on the node, because it is passed on between two sessions or nodes, or an agent asks
// or handles it without a codon, has a record instead. (A call of [actors.Self.Ask] with a deadline
// to an agent of another node has none: it is told itself.) The table of its codon says when it
// ends. The end of either session, the stop of an agent of the node and the deadline end it, too:
// the agent that asked gets FAILURE, the agent that it asked gets CANCEL, and a later reply is
// refused.
//
// A node's broadcast reaches the agents that have introduced themselves, and does not leave the
// node by an uplink. The loss of one of them is told to the sender, its silence is not.
//
// [performatives.Message.Principal] is the identity that a peer has proved to the node at which the
// message came in.
//
// # Cluster
//
// With [Options].Cluster the node is a member of a cluster: it joins others, shares the directory
// with them, and reaches their agents by links. An agent of another node is an entry of the
// directory like that of a session. When its node dies or leaves, or the link to it is down for
// [ClusterOptions].LinkTimeout, the conversations with its agents lose their peers, and the askers
// of records get FAILURE from their own node. A message is delivered or refused on the node that it
// reaches first, unless it is for a placed agent that moves: then it may wait there, or be passed
// on. A broadcast reaches the agents of all nodes. Between two nodes messages arrive at most once,
// and in order by band.
//
//	node, err := runtime.New(runtime.Options{Name: "n2", Cluster: &runtime.ClusterOptions{
//		Gossip: "10.0.0.2:7946", Join: []string{"10.0.0.1:7946"},
//	}})
//
// # Ordering
//
// Within a node a message is delivered at most once. Messages of one sender keep their
// order within a band. See package actors.
//
// # Backpressure
//
// A message that cannot be delivered is refused to its sender. If it expects no reply, it
// becomes a dead letter. Both are counted: see [Node.Counts].
//
// Requests are refused as busy by a full mailbox or an overloaded node (package actors), at the
// limit of an agent's handlers (codons), by a full outbox (wire), and at the limit of the open
// conversations of a connection ([PeerOptions].MaxOpen). An overloaded node also refuses requests
// of its own agents before they are sent, and reads more slowly from sessions and other nodes.
//
// The log and the watch of a node are subscribers of its events, each with a bounded queue
// and a goroutine: a slow one delays no agent. The log writes how many events it has lost.
//
// # Shutdown
//
// [Node.Stop] accepts no new work, lets conversations finish within its deadline, moves
// the rest to a terminal state of their tables, and joins every goroutine.
//
// # Concurrency
//
// A [Node] may be used from any goroutine. A method that waits must not be called on an
// agent's own actor.
package runtime
