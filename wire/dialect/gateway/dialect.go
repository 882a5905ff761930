package gateway

import (
	"cmp"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Name is the name of the dialect.
const Name = "gateway"

// Dialect is the language of wire's envelopes. It is safe for concurrent use.
type Dialect struct{ opts Options }

var _ wire.LabelDialect = (*Dialect)(nil)

// New returns a Dialect.
func New(o Options) *Dialect {
	o.Name = cmp.Or(o.Name, DefaultName)
	o.Version = cmp.Or(o.Version, DefaultVersion)
	return &Dialect{o}
}

// Name returns "gateway".
func (d *Dialect) Name() string { return Name }

// SenderIsLabel reports whether a message does not offer anything. The source of an envelope is a
// label: clients share it, and a router writes the same one for all of its clients. Only a peer
// that introduces itself with tools, or with what it takes on, does so under a name of its own.
func (*Dialect) SenderIsLabel(m *performatives.Message) bool {
	if m.Performative() != performatives.ActQueryCapabilities {
		return true
	}
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	return err != nil || q.Capabilities == nil || !offers(*q.Capabilities)
}

// offers reports whether a peer offers anything: topics, actions, resources, or tools that it does
// not list.
func offers(c performatives.Capabilities) bool { return c.Offers() || hasTools(c) }

// Recognizes reports whether frame is an object with the member mcp_payload, with the members error
// and source, or with jsonrpc; or an array that begins with such an object. It does not check the
// members.
func (d *Dialect) Recognizes(frame []byte) bool {
	_, known := formOf(frame)
	return known
}

// Open returns the codec of one session. It is a [wire.CompressionCodec].
func (d *Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	o.Local = cmp.Or(o.Local, NamespaceSystem)
	c := &codec{opts: d.opts, session: o, formed: o.Initiator, source: bareSource, providers: make(map[performatives.AgentID]performatives.Capabilities)}
	c.calls.Init(o.MaxPending, false, func(x *call) { c.withdrawn.End(exchange.KeyOf(x.Asker, x.key())) })
	c.requests.Init(o.MaxPending, false, func(q *request) { c.paged -= q.pages.bytes })
	c.ids, c.envelopes = exchange.IndexOf(&c.calls, (*call).key), exchange.IndexOf(&c.requests, func(q *request) string { return q.envelope })
	c.parties = exchange.IndexOf(&c.requests, (*request).party)
	c.Handover = exchange.Handover[*call]{Lock: &c.mu, Calls: &c.calls}
	return c, nil
}

// The namespaces that wire names.
const (
	NamespaceSystem  = "system"
	NamespaceDefault = "default"
)

// Namespace returns the agent or namespace that a JSON-RPC message is for (wire, Namespace
// Extraction; addenda §5): target, the target_namespace, when there is one; system for initialize
// and tools/*; ns for ns.method; else default.
func Namespace(target, method string) string {
	switch {
	case target != "":
		return target
	case method == methodInitialize || strings.HasPrefix(method, "tools/"):
		return NamespaceSystem
	}
	if ns, _, ok := splitMethod(method); ok {
		return ns
	}
	return NamespaceDefault
}

// splitMethod splits ns.method at its first dot. It reports false for a method of
// JSON-RPC's or MCP's own.
func splitMethod(method string) (ns, name string, ok bool) {
	if strings.HasPrefix(method, notifications) || strings.HasPrefix(method, "rpc.") {
		return "", "", false
	}
	ns, name, _ = strings.Cut(method, ".")
	return ns, name, ns != "" && name != ""
}

// The defaults of [Options].
const (
	DefaultName    = "ribosome"
	DefaultVersion = "0.1.0"
)

// defaultTimeout is the deadline of a request without one.
const defaultTimeout = 5 * time.Minute

// maxBatch is how many JSON-RPC messages a batch may have.
const maxBatch = 1024

// Options are the settings of a [Dialect]. The zero value works.
type Options struct {
	// Name and Version identify this program in initialize. Empty means
	// DefaultName and DefaultVersion.
	Name, Version string
	// BinaryProtocol and PerMessageAuth are announced in initialize as offers of the server
	// (wire, Capability Discovery): TCP frames, and an auth_token in each message.
	BinaryProtocol, PerMessageAuth bool
	// Rate is announced in initialize as the rate limit. The zero Rate means that there
	// is none.
	Rate wire.Rate
}
