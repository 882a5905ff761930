package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Kind says what a frame is for (wire, Frame Types).
type Kind uint8

// The kinds of frames. Their values are the bytes of the TCP protocol.
const (
	KindData  Kind = iota + 1 // messages, in the session's dialect
	KindPing                  // are you there?
	KindPong                  // yes: Data is that of the ping
	KindError                 // the sender gives the connection up, because of Err
	KindClose                 // the sender says nothing more; Data is the reason, if there is one
)

// Frame is what a transport moves.
type Frame struct {
	Kind Kind
	Data []byte
	Err  *performatives.Refusal // of KindError
}
