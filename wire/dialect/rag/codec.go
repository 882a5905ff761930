package rag

import (
	"cmp"
	"sync"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// codec has the state of one session.
type codec struct {
	exchange.Handover[*call]
	opts wire.CodecOptions

	mu        sync.Mutex
	calls     pending // requests of the peer
	asked     pending // requests to the peer
	sequences sequences
	withdrawn exchange.Withdrawn                      // of the peer
	ahead     exchange.Cancels                        // of this node, before their requests
	agents    map[performatives.AgentID]*registration // of the peer; by folded id
}

// Decode reads one message.
func (c *codec) Decode(data []byte, take func(wire.Inbound)) {
	d := decoder{codec: c}
	d.Names = memberNames
	if d.Open(data, c.opts.MaxBytes) {
		d.read()
	}
	in := wire.Inbound{Message: d.made, Token: d.token, Ref: d.origin}
	if d.Refusal != nil {
		in = d.refused()
	}
	if take(in); d.told != nil {
		take(wire.Inbound{Message: d.told, Token: d.token})
	}
}

// origin has the parts of a message of the peer from which its answer is made. It is the Ref of a
// [wire.Inbound].
type origin struct {
	kind, trace      string
	sender, receiver performatives.AgentID
	conversation     performatives.ConversationID
	call             *call
}

// Refuse appends the ERROR_MESSAGE for a message that the session or its handler refuses. An error
// itself gets no answer: two peers would otherwise answer each other without end.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	o, ok := in.Ref.(*origin)
	if !ok || exchange.IsAnswer(in.Message) {
		return dst
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.Remove(o.call)
	return c.appendError(dst, o, err)
}

// Name is the name of the dialect.
const Name = "rag"

// Dialect is rag as the language of a [wire.Session]. A frame is one message. The zero value works.
//
// rag leaves authentication to the transport. Over a transport without a place for a token, such as
// TCP, a message may have it in the member auth_token, with or without the word Bearer. The session
// removes it from the message.
type Dialect struct{}

var _ wire.LabelDialect = Dialect{}

// Name returns "rag".
func (Dialect) Name() string { return Name }

// Recognizes reports whether a frame is an object with type or trace_id, and with sender, receiver
// or payload, and without a member that decides for another dialect: acl, bridge, rossnet or
// gateway. So an envelope that lacks one of its required members is refused in the words of this
// dialect. One may have those of others as unknown members, once the dialect of the session is
// decided.
func (Dialect) Recognizes(frame []byte) bool {
	return wire.HasMember(frame, "type", "trace_id") && wire.HasMember(frame, "sender", "receiver", "payload") &&
		!wire.HasMember(frame, "performative", "message_type", "mcp_header", "mcp_payload", "mcp_version", "jsonrpc") && legible(frame)
}

// legible reports whether the names of the members of an object can be read, up to a value that
// cannot. A frame that ends where a name should be may be of any dialect.
func legible(frame []byte) bool {
	s := jsonscan.Scanner{Data: frame, Depth: exchange.MaxDepth}
	s.Open('{')
	for first := true; ; first = false {
		if _, more, ok := s.Key(first); !ok || !more {
			return ok
		}
		if !s.Value() {
			return true
		}
	}
}

// SenderIsLabel reports whether a message comes from System, the coordinator and user interface of
// the specification (Standard Agent IDs). Many clients use that name, and it is no agent's.
func (Dialect) SenderIsLabel(m *performatives.Message) bool { return m.Sender().Is(agentSystem) }

// Open returns the codec of one session.
func (Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	o.Local = cmp.Or(o.Local, agentSystem)
	c := &codec{opts: o, sequences: make(sequences), agents: make(map[performatives.AgentID]*registration)}
	c.calls.init(o.MaxPending, false, c.ended)
	c.asked.init(o.MaxPending, true, nil)
	c.Handover = exchange.Handover[*call]{Lock: &c.mu, Calls: &c.calls.Pending}
	return c, nil
}

// The agents that the specification names (Standard Agent IDs).
const (
	agentIngestion performatives.AgentID = "IngestionAgent"
	agentResponse  performatives.AgentID = "LLMResponseAgent"
	agentSystem    performatives.AgentID = "System"
)
