package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Handler receives the messages and lifecycle events of sessions. Its methods must not block. Only
// Receive may, for some milliseconds, to have the flow control of the connection slow the peer
// down. The calls for one session are ordered: Opened, then one Receive at a time, then
// Undelivered, then Closed. There is one exception: Undelivered for a message that the dialect
// cannot encode may run earlier and concurrently with Receive.
type Handler interface {
	// Opened reports a new session. Its peer may not have authenticated yet.
	Opened(s *Session)
	// Receive handles a message from the peer. The message is valid, and the peer is
	// authorized to send in the name of its sender. A returned [*performatives.Refusal] is
	// sent to the peer with its code and text, any other error as an internal error without
	// text.
	Receive(s *Session, m *performatives.Message) error
	// Undelivered returns a message that [Session.Send] accepted and that was not delivered:
	// the session ended before the message was written, or the dialect cannot encode it.
	Undelivered(s *Session, m *performatives.Message, why *performatives.Refusal)
	// Closed reports the end of a session. It is called once, after all other calls. A nil
	// err means that the session ended in order.
	Closed(s *Session, err error)
}

// HostHandler is a [Handler] that serves some messages itself, such as a handshake, a registration,
// or a query for agents. They need no permission of [Options].Authorize. What it answers must be
// what the peer may know: see [Session.MayCall]. It knows which ids of senders its sessions own.
// Its methods are called before Receive, on the same goroutine.
type HostHandler interface {
	Handler
	// Hosts reports whether the handler serves m itself.
	Hosts(m *performatives.Message) bool
	// Owns reports whether the session has registered the id of the sender of m. The ids of
	// messages of other senders are those of their session.
	Owns(s *Session, m *performatives.Message) bool
}

// ToolHandler is a [Handler] that knows the tools of its agents. Its methods may be called by any
// goroutine.
type ToolHandler interface {
	Handler
	// Tools returns names of tools of an agent or a namespace that an agent of the peer may call.
	Tools(s *Session, asker, of performatives.AgentID) []string
	// Workers returns the agents of a namespace that have a tool and that an agent of the peer may
	// call, at most 64. known reports whether there is an agent or a namespace of that name.
	Workers(s *Session, asker, of performatives.AgentID, tool string) (workers []performatives.AgentID, known bool)
}
