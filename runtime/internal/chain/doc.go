// Package chain is the room of a node's middleware. A message passes the chain once, where it
// enters the node.
//
// It owns the order of the middleware, the counts of each, and the calls that run beyond their
// time. It also owns the queue of the messages of this process's agents that wait for middleware
// with a timeout. Its one lock is that of the queue. While it is held, only the actor system is
// called.
//
// It promises that a message is passed on once all middleware has passed it, and that the fields
// which a middleware must not change are unchanged. The messages of one sender and priority are
// passed on in their order. A fault of a middleware reaches the sender as a code and its name only.
//
// It may call the actor system, and the functions that [New] gets. It imports no other room.
package chain
