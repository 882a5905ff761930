package wire

import "github.com/ribosome-agents/ribosome/performatives"

// Dialect is a message format that peers use on a connection.
type Dialect interface {
	// Name returns the dialect's short name, such as acl.
	Name() string
	// Recognizes reports whether frame, which comes before the dialect of its session is
	// decided, looks like a frame of this dialect. The frame may hold arbitrary bytes.
	// Recognizes must be fast and must not panic.
	Recognizes(frame []byte) bool
	// Open returns the codec for one session.
	Open(CodecOptions) (Codec, error)
}

// LabelDialect is a [Dialect] in which the sender of a message may be a label. Many clients have
// the same label, so it proves nothing, and nothing is refused for it: a message whose label the
// identity of the session does not cover comes from the identity's own name.
type LabelDialect interface {
	Dialect
	// SenderIsLabel reports whether the sender of a message from the peer is a label. It must not
	// change the message.
	SenderIsLabel(m *performatives.Message) bool
}

// ServiceNamer is a [Dialect] with names for the services of a node. Each is another name of all of
// its agents, and no agent's.
type ServiceNamer interface {
	Dialect
	// Services returns the names.
	Services() []performatives.AgentID
}

// Anycast may be the Shape of a message that a dialect has read: whether its sender names no
// receiver, and wants any agent that takes the work on.
type Anycast interface{ Anycast() bool }

// CodecOptions describes the session that a [Codec] works for.
type CodecOptions struct {
	Local       performatives.AgentID // sender of the messages that the codec itself creates
	Initiator   bool                  // whether this end opened the connection
	Path        string                // [Peer].Path of the connection; empty without HTTP
	Registry    *performatives.Registry
	Stamper     performatives.Stamper // never nil
	MaxBytes    int                   // largest length of a frame in bytes
	MaxPending  int                   // largest number of pending requests in each direction
	Compression []string              // compression methods of the connection
	Token       func() string         // returns the credential that each message carries; nil when messages carry none

	// Tools returns names of tools of an agent or a namespace that an agent of the peer may call.
	// It is nil when the handler is no [ToolHandler].
	Tools func(asker, of performatives.AgentID) []string
	// Workers is [ToolHandler].Workers for the session; nil when the handler is none.
	Workers func(asker, of performatives.AgentID, tool string) (workers []performatives.AgentID, known bool)
}

// Codec translates between frames and messages for one session. The reading goroutine calls
// Decode and Refuse, the writing goroutine calls Encode.
type Codec interface {
	// Decode parses a frame and passes its contents to take, in order. It does not retain
	// frame.
	Decode(frame []byte, take func(Inbound))
	// Encode appends m to dst as one frame. It returns dst unchanged when there is nothing to
	// write: the dialect cannot express m, or m belongs to a batch that is not complete yet.
	// After an error, m is undeliverable: its sender receives the code and text of the
	// [*performatives.Refusal] in the error, if there is one.
	Encode(dst []byte, m *performatives.Message) ([]byte, error)
	// Refuse appends the frame that tells the peer why in was refused. The text of err may be
	// sent to the peer. Refuse returns dst unchanged when the dialect sends no answer.
	Refuse(dst []byte, in Inbound, err error) []byte
}

// Inbound is one item of a decoded frame: a message, an error, or a frame to send back.
type Inbound struct {
	// Message is the message for the handler. It is nil when Err describes an invalid message
	// or when the dialect itself answers the item.
	Message *performatives.Message
	// Token is the credential that arrived with the message. Message does not contain it.
	Token string
	// Err describes why the item is not a valid message.
	Err *performatives.Refusal
	// Answer is a frame to send to the peer: the dialect's own answer, or its report of Err.
	// Empty means none.
	Answer []byte
	// ID is the peer's id of the message, for replay detection, in a dialect where Message.ID
	// is generated on this end. Empty means that Message.ID is the peer's id.
	ID string
	// Content is the text of the message's content, such as its payload. It tells another message
	// under the same id from a copy. It is valid during the call of take. Nil disables the check.
	Content []byte
	// Rest decodes the rest of an item, of which only Token and Ref are set: what depends on the
	// rights of the peer. It is called during the call of take, after the authentication by Token.
	// Nil means that the item is complete.
	Rest func() Inbound
	// Ref is private data of the codec, for Refuse.
	Ref any
}

// HandoverCodec is a [Codec] that keeps state about the requests of its peer.
type HandoverCodec interface {
	Codec
	// Requests returns the requests of an agent of the peer that have no answer yet, in a form of
	// the dialect's own. It may be called by any goroutine.
	Requests(agent performatives.AgentID) ([]byte, error)
	// Adopt takes over what Requests of the codec of another session has returned, also one of
	// another node, so that this codec can write the answers. It may be called by any goroutine.
	Adopt(requests []byte) error
}

// CompressionCodec is a [Codec] that negotiates a compression method with its peer.
type CompressionCodec interface {
	Codec
	// Agreed returns the method that both ends agreed on, once: after the Encode of the frame
	// that agrees, or during the Decode of the frame that agrees. It returns an empty string
	// otherwise. Both goroutines of the session call it. During Decode it returns the method
	// before take runs, so that a reply sent by take's caller is already compressed.
	Agreed() (method string)
	// Offered reports whether Encode has written an offer of compression that the peer has
	// not answered. The peer assumes that everything after its answer is compressed.
	// Therefore the end that opened the connection writes nothing between its offer and the
	// answer.
	Offered() bool
}
