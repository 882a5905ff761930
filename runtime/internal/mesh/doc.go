// Package mesh is the room of a node's part of a cluster: the links to other nodes, the directory
// that they share, and the agents that they place. It routes each message that is for no agent of
// the process, also of a node without a cluster: package route decides about the message from what
// this room knows, and this room acts on it.
//
// It owns the state of each link, the replica of the directory, the activations of placed agents,
// and the messages that cannot be routed yet. It promises that the directory of the actor system
// leads to each agent that the cluster knows. When a node is lost, its agents leave that directory,
// and each conversation with them is told, after everything that the node has sent; package actors
// answers the calls of [actors.Self.Ask] to its agents, and package relay the askers of its
// records. A placed agent that moves is handed over with its state and the messages that wait for
// it. A node that leaves in order hands over all of its placed agents.
//
// The rooms have an order: route, chain, namespace, relay, sessions, mesh. None imports a
// later one, which the linter checks. This room imports route, relay and sessions. They
// reach it by the functions and interfaces that they get. The lock Handover of the node is taken
// before the locks in here.
package mesh
