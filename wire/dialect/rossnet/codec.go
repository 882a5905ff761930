package rossnet

import (
	"slices"
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// codec has the state of one session.
type codec struct {
	exchange.Handover[*call]
	opts  wire.CodecOptions
	owner performatives.AgentID // of the path of the connection; empty = the path names none

	mu    sync.Mutex
	calls pending                        // requests of the peer
	asked pending                        // requests to the peer
	field map[performatives.AgentID]bool // whether an agent of the peer writes the form of the field, by folded id

	withdrawn exchange.Withdrawn // of the peer, by subtask_id, else by correlation_id
	ahead     exchange.Cancels   // of this node, before their requests
}

// maxForms bounds the agents of one session whose form is stored.
const maxForms = 1024

// Decode reads one message.
func (c *codec) Decode(data []byte, take func(wire.Inbound)) {
	d := decoder{codec: c}
	if d.scan(data); d.Refusal == nil {
		d.read()
	}
	// No message is made of PING and PONG. Messages without an id have one of their content.
	in := wire.Inbound{Message: d.made, Token: d.token, Ref: d.origin, Answer: d.answer}
	if d.made != nil && d.id != "" {
		in.Content = d.payload
	}
	var ended *performatives.Message
	if d.Refusal != nil {
		in, ended = d.refused()
	}
	if take(in); ended != nil {
		take(wire.Inbound{Message: ended, Token: d.token})
	}
}

// origin has the parts of a message of the peer from which its answer is made. It is the Ref of a
// [wire.Inbound].
type origin struct {
	kind, id, correlation, subtask string
	sender, receiver               performatives.AgentID
	field                          bool
	call                           *call
}

// Refuse appends the answer to a message that the session or its handler refuses: TASK_FAIL to a
// TASK_ASSIGN with a subtask_id, else ERROR. What itself says no gets no answer: two peers would
// otherwise answer each other without end.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	o, ok := in.Ref.(*origin)
	if !ok || slices.Contains(noes, o.kind) || exchange.IsAnswer(in.Message) {
		return dst
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.Remove(o.call)
	return c.appendError(dst, o, err)
}

// Name is the name of the dialect.
const Name = "rossnet"

// Version is the version that this package writes (rossnet §8). It reads all versions of the same
// major.
const Version = "1.0"

// PathPrefix is where clients in the field connect: the path has the id of the agent behind it
// (addenda §4).
const PathPrefix = "/ws/"

// The services of a node (rossnet §3).
const (
	serviceRouter    performatives.AgentID = "MCP_ROUTER"
	serviceDiscovery performatives.AgentID = "MCP_DISCOVERY"
)

// Dialect is rossnet as the language of a [wire.Session]. A frame is one message. The zero value
// works.
type Dialect struct{}

var _ wire.ServiceNamer = Dialect{}

// Name returns "rossnet".
func (Dialect) Name() string { return Name }

// Services returns the services of a node: the router chooses an agent for a task, discovery
// registers the sender and lists the agents.
func (Dialect) Services() []performatives.AgentID {
	return []performatives.AgentID{serviceRouter, serviceDiscovery}
}

// AsksDiscovery reports whether a message asks MCP_DISCOVERY for agents. It can be
// [wire.Options].Public.
func AsksDiscovery(m *performatives.Message) bool {
	if !m.Receiver().Is(serviceDiscovery) || m.Performative() != performatives.ActQueryRef || m.Sealed() {
		return false
	}
	q, err := performatives.PayloadAs[performatives.QueryRef](m)
	return err == nil && q.Reference == referenceAgents
}

// Recognizes reports whether a frame is an object with the member mcp_header.
func (Dialect) Recognizes(frame []byte) bool { return wire.HasMember(frame, "mcp_header") }

// Open returns the codec of one session.
func (Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	owner, _ := strings.CutPrefix(o.Path, PathPrefix)
	if o.Initiator || strings.Contains(owner, "/") {
		owner = ""
	}
	c := &codec{opts: o, owner: performatives.AgentID(owner), field: make(map[performatives.AgentID]bool)}
	c.calls.init(o.MaxPending, false, c.ended)
	c.asked.init(o.MaxPending, true, nil)
	c.Handover = exchange.Handover[*call]{Lock: &c.mu, Calls: &c.calls.Pending}
	return c, nil
}
