package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Handler is what sessions hand their messages to. Its methods must not block. For
// one session Opened comes first, then Receive, one at a time, then Undelivered and
// Closed. Only for what its dialect cannot write, Undelivered may come earlier, and while
// Receive runs.
type Handler interface {
	// Opened is told of a new session, whose peer is perhaps not authenticated yet.
	Opened(s *Session)
	// Receive takes a message of the peer's: valid, authenticated, and sent in the
	// name of who authenticated. An error is told to the peer; if it is a
	// [*performatives.Refusal], with its code and text, else as an internal error.
	Receive(s *Session, m *performatives.Message) error
	// Undelivered gives back a message that [Session.Send] took and that the peer has
	// not got: the session ended before, or its dialect cannot write it.
	Undelivered(s *Session, m *performatives.Message, why *performatives.Refusal)
	// Closed is told once that a session has ended, after everything else. A nil err
	// means in order.
	Closed(s *Session, err error)
}
