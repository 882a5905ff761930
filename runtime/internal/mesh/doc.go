// Package mesh is the room of a node's part of a cluster: the links to other nodes, the directory
// that they share, and the agents that they place. It also acts on the decisions about messages,
// which package route makes from what this room knows.
//
// It owns the state of each link, the replica of the directory, and the activations of placed
// agents. It promises that the directory of the actor system leads to each agent that the cluster
// knows. When a node is lost, its agents leave that directory, and each conversation with them is
// told, after everything that the node has sent. A placed agent that moves is handed over with its
// state and the messages that wait for it.
//
// It may call the other rooms: route, relay, uplinks, sessions. None of them calls it, but for the
// functions that they get. The lock Handover of the node is taken before the locks in here.
package mesh
