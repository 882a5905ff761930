// Package uplinks is the room of the sessions that a node opens to the node of another system, and
// of the ids beyond them.
//
// It owns the node's uplinks, their names and their sessions. An id that is unknown here belongs to
// the uplink with the longest name for it. It has one lock for the set of uplinks, one an uplink for
// its session, and one a session for the introductions of agents. No call leaves the package while
// the first two are held.
//
// It promises that an uplink has one session at most, and that a message of the far node goes to an
// agent of this node or is refused, and never back. When a session is lost, so are the agents beyond
// it. With [Options].Introduce the far node knows each visible agent of this node.
//
// It may call the actor system, the two functions that [New] gets, and the rooms chain, namespace
// and relay.
package uplinks
