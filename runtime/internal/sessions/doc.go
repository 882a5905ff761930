// Package sessions is the room of the agents of sessions that other processes have opened: how an
// agent comes by its id, what it says it can do, and what the node itself answers it.
//
// It owns the sessions of a server, their agents and guests, and the answers that wait until an
// agent which comes from another node has brought its requests. It has one lock an agent for those
// answers. The lock that is held while an id goes to another session or node belongs to the node,
// because the links between nodes take it, too: see [Host]. It is taken before the locks of links
// and records.
//
// It promises that an id has one owner: a session that claims it replaces the one before, whose
// messages were all passed on by then. The answers to what the agent has asked follow it. A message
// to a namespace gets an answer: of an agent, of the node, or a refusal.
//
// It may call the actor system, the functions of its [Host], and the rooms chain, namespace, relay
// and uplinks.
package sessions
