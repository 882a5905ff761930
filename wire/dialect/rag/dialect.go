package rag

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Name is the name of the dialect.
const Name = "rag"

// DefaultMaxDepth is the nesting depth that the zero [Dialect] allows.
const DefaultMaxDepth = exchange.DefaultMaxDepth

// Dialect is rag as the language of a [wire.Session]. A frame is one message. The zero value works.
//
// rag leaves authentication to the transport. Over a transport without a place for a token, such as
// TCP, a message may have it in the member auth_token, with or without the word Bearer. The session
// removes it from the message.
type Dialect struct {
	// MaxDepth is how deep objects and arrays may nest, the envelope being the first level. Zero
	// means DefaultMaxDepth; 10,000 is the most.
	MaxDepth int
}

var _ wire.LabelDialect = Dialect{}

// Name returns "rag".
func (Dialect) Name() string { return Name }

// foreign has the members that decide for another dialect: acl, bridge, rossnet and gateway. An
// envelope of rag may have them as unknown members, once the dialect of the session is decided.
var foreign = []string{"performative", "message_type", "mcp_header", "mcp_payload", "mcp_version", "jsonrpc"}

// Recognizes reports whether a frame is an object with type or trace_id, and with sender, receiver
// or payload, and without a member that decides for another dialect. So an envelope that lacks one
// of its required members is refused in the words of this dialect.
func (Dialect) Recognizes(frame []byte) bool {
	var named, addressed, other bool
	ok := exchange.Keys(&jsonscan.Scanner{Data: frame, Depth: exchange.MaxDepth}, func(name string) {
		named = named || name == "type" || name == "trace_id"
		addressed = addressed || name == "sender" || name == "receiver" || name == "payload"
		other = other || slices.Contains(foreign, name)
	})
	return ok && named && addressed && !other
}

// SenderIsLabel reports whether a message comes from System, the coordinator and user interface of
// the specification (Standard Agent IDs). Many clients use that name, and it is no agent's.
func (Dialect) SenderIsLabel(m *performatives.Message) bool { return m.Sender().Is(agentSystem) }

// Open returns the codec of one session.
func (d Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	depth, err := exchange.SessionDepth(Name, o, d.MaxDepth)
	if err != nil {
		return nil, err
	}
	o.Local = cmp.Or(o.Local, agentSystem)
	c := &codec{opts: o, depth: depth, sequences: make(sequences), agents: make(map[performatives.AgentID]*registration)}
	c.calls.init(o.MaxPending, false, c.ended)
	c.asked.init(o.MaxPending, true, nil)
	return c, nil
}

// The agents that the specification names (Standard Agent IDs).
const (
	agentIngestion performatives.AgentID = "IngestionAgent"
	agentRetrieval performatives.AgentID = "RetrievalAgent"
	agentResponse  performatives.AgentID = "LLMResponseAgent"
	agentSystem    performatives.AgentID = "System"
)
