// Package route decides where a message goes. It owns [Decide], a pure function of what the node
// knows, and [Hold], the one place in which messages wait until they can be routed. It promises
// that a message is delivered, sent to one node, refused, or held for a bounded time. It changes
// nothing: package runtime acts on its decisions. It calls nothing of the other rooms, which
// implement [View].
package route
