// Package namespace is the room of the namespaces of a node: which agents one has, and what they
// can do together.
//
// It owns the catalog of the visible agents, sorted by id, with the text of their combined
// capabilities, and the names of the namespaces that have all agents. Its one lock is that of the
// catalog; while it is held, only the directory of the actor system is read.
//
// It promises that a change of the directory is in the next answer. A change costs what the changed
// agent offers, and the text of a block of agents. No agent is listed before the first question.
// The function that [New] gets is told of changes in bursts.
//
// It may call the actor system, and that function. It imports no other room.
package namespace
