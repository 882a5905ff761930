// Package route decides where a message goes. It owns [Decide], a pure function of what the node
// knows. It promises that a message is delivered, sent to one node, refused, or has to wait.
//
// A message for an unknown agent does not wait. It goes to the uplink of the node if that is
// connected. If not, it is refused at once: as stopped if the agent has run here or may be beyond
// the uplink, else as for an unknown agent. What a node does not know for certain waits, 4,096
// messages at most; one more is refused. A message is tried again until it has waited for 1.3 s if
// its receiver is a placed agent that moves, if a session of this node has its sender, or if it has
// come back from another node. It is tried for 5.1 s if another node has passed it on, and its
// sender is unknown. Then the message is refused, with two exceptions. A sender that is still
// unknown counts as an agent of the node that has passed the message on, while the link to it is
// up. A message for a placed agent of this node, which another node seemed to run, activates the
// agent here. (A message for an agent that starts or moves in this process waits in an
// [actors.Reservation].)
//
// The package changes nothing: package mesh implements [View], acts on the decisions, and has
// messages wait (router.go there). It calls no other room.
package route
