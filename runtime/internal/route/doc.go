// Package route decides where a message goes. It owns [Decide], a pure function of what the node
// knows, and [Hold], where messages wait that cannot be routed yet. It promises that a message is
// delivered, sent to one node, refused, or held.
//
// A message for an unknown agent is refused at once, unless the agent may be beyond an uplink. It
// is held for 1.3 s at most if its receiver is a placed agent that moves. It is held for 5.1 s at
// most if its receiver or its sender is of a node that comes or goes. Then it is refused. (A message
// for an agent that starts or moves in this process waits in an [actors.Reservation].)
//
// The package changes nothing: package mesh implements [View], acts on the decisions, and owns the
// Hold. It calls no other room.
package route
