// Package sessions is the room of the sessions of a node. [Peers] handles those that other
// processes open: how an agent comes by its id, what it says it can do, and what the node itself
// answers it. An [Uplink] is a session that the node opens to the node of another system, and the
// way to the ids beyond it.
//
// It owns the sessions of a server, their agents and guests, and the answers that wait until an
// agent which comes from another node has brought its requests. It owns the uplink: an id that is
// unknown here is beyond it.
//
// An agent has a lock for the answers that wait, the uplink one for its session, and the lists of
// actions that peers watch have one. No call leaves the package while they are held. A session of
// the uplink has one for the introductions of agents. The lock that is held while an id goes to
// another session or node belongs to the node, because the links between nodes take it, too: see
// [Host]. It is taken before the locks of links and records.
//
// It promises that an id has one owner: a session that claims it replaces the one before, whose
// messages were all passed on by then. The answers to what the agent has asked follow it. A message
// to a namespace gets an answer: of an agent, of the node, or a refusal. The uplink has one session
// at most. A message of its far node goes to an agent of this node or is refused, and never back.
// When the session is lost, so are the agents beyond it. With [UplinkOptions].Introduce the far
// node knows each visible agent of this node.
//
// It may call the actor system, the functions of its [Host], and the rooms chain, namespace and
// relay.
package sessions
