package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Dialect is a language in which peers write messages.
type Dialect interface {
	// Name is the dialect's short name, such as acl.
	Name() string
	// Recognizes reports whether a frame, the first of a session, looks like one of
	// this dialect. It must be fast and never fail: the frame may be anything.
	Recognizes(frame []byte) bool
	// Open returns the codec of one session.
	Open(CodecOptions) (Codec, error)
}

// CodecOptions is what a [Codec] has to know of its session.
type CodecOptions struct {
	Local       performatives.AgentID // as whom the codec speaks when it answers by itself
	Initiator   bool                  // this end opened the connection
	Registry    *performatives.Registry
	Stamper     performatives.Stamper // never nil
	MaxBytes    int                   // the longest frame
	MaxPending  int                   // the most requests that wait for an answer, each way
	Compression []string              // what the connection could agree on
	Token       func() string         // what each message has to carry to be authenticated; nil for none
}

// Codec translates between frames and messages for one session. Decode and Refuse
// are called by one goroutine, Encode by another.
type Codec interface {
	// Decode reads a frame and gives take what it holds, in order. It keeps nothing
	// of frame.
	Decode(frame []byte, take func(Inbound))
	// Encode appends m to dst as one frame. It returns dst as it was when there is
	// nothing to write (now): the dialect has no words for m, or m is part of a batch
	// that is not complete. An error means that m cannot be written; it is told to
	// m's sender: a [*performatives.Refusal] with its code and text.
	Encode(dst []byte, m *performatives.Message) ([]byte, error)
	// Refuse appends the frame that tells the peer that what it sent is not served,
	// because of err, whose text may be shown. It returns dst as it was when nobody
	// is to be told.
	Refuse(dst []byte, in Inbound, err error) []byte
}

// Inbound is one thing that a frame held.
type Inbound struct {
	// Message is for the swarm. Nil means that there is none: Err says what was wrong,
	// or the dialect answers by itself.
	Message *performatives.Message
	// Token is the credential that came with the message; it is nowhere in Message.
	Token string
	// Err says why what came is no message.
	Err *performatives.Refusal
	// Answer is a frame for the peer: what the dialect itself answers, or how it
	// tells of Err. Empty means none.
	Answer []byte
	// ID is the peer's own id of the message, for the protection against replay, in a
	// dialect whose Message.ID is not made by the peer. Empty means that Message.ID is it.
	ID string
	// Ref is private to the codec, for Refuse.
	Ref any
}

// Negotiating is a [Codec] that agrees with its peer on a compression.
type Negotiating interface {
	Codec
	// Agreed returns, once, the method that both ends agreed on, after the Encode of
	// the frame that says so or the Decode of the one that did; else nothing. It is
	// called by either goroutine, and before what Decode takes is handed on, so that
	// whoever answers that at once does it in the compression.
	Agreed() (method string)
	// Offered reports whether a frame of Encode has offered a compression that the peer
	// has not answered. It takes what follows its answer to be compressed, and so the end
	// that opened the connection writes nothing until it has read that.
	Offered() bool
}
