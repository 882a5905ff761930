// Package chain is the room of a node's middleware. A message passes the chain once, where it
// enters the node.
//
// It owns the order of the middleware, the counts of each, the calls that run beyond their time, and
// the queue of the messages of this process's agents that wait for middleware with a timeout. Its
// one lock is that of the queue, and no call leaves the package while it is held.
//
// It promises that a message has passed all middleware or none has an effect, that what a middleware
// must not change is unchanged, and that the messages of one sender and priority are passed on in
// their order. A fault of a middleware reaches the sender as a code and its name only.
//
// It may call the actor system, and the functions that [New] gets. It imports no other room.
package chain
