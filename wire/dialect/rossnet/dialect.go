package rossnet

import (
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Name is the name of the dialect.
const Name = "rossnet"

// Version is the version that this package writes (rossnet §8). It reads all versions of the same
// major.
const Version = "1.0"

// DefaultMaxDepth is the nesting depth that the zero [Dialect] allows.
const DefaultMaxDepth = exchange.DefaultMaxDepth

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
type Dialect struct {
	// MaxDepth is how deep objects and arrays may nest, the envelope being the first level. Zero
	// means DefaultMaxDepth; 10,000 is the most.
	MaxDepth int
}

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
func (d Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	depth, err := exchange.SessionDepth(Name, o, d.MaxDepth)
	if err != nil {
		return nil, err
	}
	owner, ok := strings.CutPrefix(o.Path, PathPrefix)
	if !ok || o.Initiator || strings.Contains(owner, "/") {
		owner = ""
	}
	c := &codec{
		opts: o, depth: depth, owner: performatives.AgentID(owner),
		field: make(map[performatives.AgentID]bool),
	}
	c.calls.init(o.MaxPending, false, c.ended)
	c.asked.init(o.MaxPending, true, nil)
	return c, nil
}
