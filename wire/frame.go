package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Kind is the purpose of a frame (wire specification, Frame Types).
type Kind uint8

// The kinds of frames. The values are those of the type byte in the TCP protocol.
const (
	KindData  Kind = iota + 1 // messages in the session's dialect
	KindPing                  // request for a PONG
	KindPong                  // answer to a PING; Data is that of the PING
	KindError                 // the sender ends the session because of Err
	KindClose                 // the sender writes nothing more; Data is the reason, which may be empty
)

// Frame is the unit that a transport sends and receives.
type Frame struct {
	Kind Kind
	Data []byte
	Err  *performatives.Refusal // of KindError only
}
