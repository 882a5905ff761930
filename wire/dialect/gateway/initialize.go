package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// initialize serves initialize of the peer.
func (c *codec) initialize(e *envelope, r *rpc, o *origin) wire.Inbound {
	if jsonscan.Is(r.params, '[') {
		return c.refused(e, o, exchange.Invalid(pathParams, "an object", r.params))
	}
	var extra performatives.Members
	values, refusal := rule.Read(nil, introduction, pathParams, r.params, public(&extra))
	if refusal != nil {
		return c.refused(e, o, refusal)
	}
	others, _ := jsonscan.Texts(values[1])
	h, ok := negotiate(jsonscan.Text(values[0]), others)
	if !ok {
		return c.refusedWith(e, o, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: pathParams + ".protocolVersion", Text: "there is no protocol version in common",
		}, faultData{Supported: slices.Concat(supported, mcpVersions)})
	}
	if c.bare.Load() {
		h.mcp = true
		name := performatives.AgentID(jsonscan.Text(jsonscan.Member(jsonscan.Member(r.params, "clientInfo"), "name")))
		if name != "" && performatives.CheckID(name) == nil && name.Fold() != NamespaceSystem && name.Fold() != NamespaceDefault {
			c.source = name
		}
		e.source = c.source
	}
	h.gzip = c.gzips(values[2])
	own := capabilitiesOf(values[2])
	in := c.serve(e, r, o, performatives.Envelope{
		Receiver: c.queried(e, r.method),
		Payload:  performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &own, Extra: extra},
	}, &call{hello: &h})
	if in.Err == nil {
		c.mcp.Store(h.mcp)
		c.introduction = in.Message
	}
	return in
}

// The kinds of the members of an introduction that only gateway has.
var (
	aName      = &rule.Kind{Want: "a string or an array of strings", Fits: listOr(`"`, rule.Text.Fits)}
	aTools     = &rule.Kind{Want: "an array of tools with a name, an object or a boolean", Fits: listOr("{tf", func(v []byte) bool { return actionOf(v).Name != "" })}
	aResources = &rule.Kind{Want: "an array of resources with a uri, an object or a boolean", Fits: listOr("{tf", func(v []byte) bool { return resourceOf(v).URI != "" })}
)

// listOr reports whether a value begins with one of those characters, or is an array whose elements
// all fit.
func listOr(begins string, fits func(element []byte) bool) func([]byte) bool {
	list := rule.ListOf("", fits)
	return func(v []byte) bool { return strings.Contains(begins, string(v[:1])) || list.Fits(v) }
}

// introduction has the members of the params of initialize.
var introduction = []rule.Member{
	rule.Optional("protocolVersion", rule.Text),
	rule.Optional("supportedVersions", rule.Texts),
	rule.Optional("capabilities", rule.Object,
		rule.Optional(compression, aName), rule.Optional("tools", aTools), rule.Optional("resources", aResources), rule.Optional("topics", rule.Texts),
	),
}

// The supported versions of this protocol, and of the Model Context Protocol, the newest
// first (addenda §5).
var (
	versions    = []string{"1.1", "1.0"}
	mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
)

// supported has the versions of this protocol in the order of wire.
var supported = slices.Sorted(slices.Values(versions))

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// hello is the result of the negotiation of an initialize.
type hello struct {
	version string
	mcp     bool // it is a version of MCP
	gzip    bool // both ends compress after the reply
}

// negotiate chooses a version: the preferred version of the peer if it is supported, else
// the newest in common. The answer to an unknown date is the newest supported date: MCP
// leaves it to the peer whether to accept that. It reports false without a version in
// common.
func negotiate(preferred string, others []string) (hello, bool) {
	known := slices.Concat(versions, mcpVersions)
	at := slices.Index(known, preferred)
	if at < 0 {
		at = slices.IndexFunc(known, func(v string) bool { return slices.Contains(others, v) })
	}
	if at < 0 && date.MatchString(preferred) {
		at = len(versions)
	}
	if at < 0 {
		return hello{}, false
	}
	return hello{version: known[at], mcp: at >= len(versions)}, true
}

// program is a clientInfo or a serverInfo.
type program struct {
	Name              string   `json:"name"`
	Version           string   `json:"version"`
	SupportedVersions []string `json:"supportedVersions,omitempty"`
}

// welcome returns the result of initialize (wire, Capability Discovery).
func (c *codec) welcome(h *hello) ([]byte, error) {
	limit := map[string]any{"enabled": false}
	if c.opts.Rate.Messages > 0 {
		d := wire.ErrorObjectOf(&wire.LimitError{Limit: c.opts.Rate}).Details
		limit = map[string]any{"enabled": true, "default_limit": d.Limit, "window": d.Window}
	}
	offers := map[string]any{
		"tools": true, "resources": true, "streaming": false, "binary_protocol": c.opts.BinaryProtocol, "per_message_auth": c.opts.PerMessageAuth,
		"rate_limiting": limit,
	}
	if h.mcp { // MCP demands objects
		offers["tools"], offers["resources"] = map[string]bool{"listChanged": true}, struct{}{}
	}
	if h.gzip {
		offers[compression] = []string{compressionGzip}
	}
	return jsonscan.Marshal(struct {
		ProtocolVersion string         `json:"protocolVersion"`
		ServerInfo      program        `json:"serverInfo"`
		Capabilities    map[string]any `json:"capabilities"`
	}{h.version, program{c.opts.Name, c.opts.Version, supported}, offers})
}

// introduce writes the params of an initialize of this node.
func (c *codec) introduce(b *jsonscan.Builder, q performatives.QueryCapabilities) {
	b.Value("capabilities", c.offer(*q.Capabilities))
	if len(q.Extra["clientInfo"]) == 0 {
		b.Value("clientInfo", program{Name: c.opts.Name, Version: c.opts.Version})
	}
	b.Text("protocolVersion", versions[0])
	b.Value("supportedVersions", supported)
	b.Sorted(q.Extra, "capabilities", "protocolVersion", "supportedVersions")
}

// introduced reads the answer to an initialize of this node.
func (c *codec) introduced(result []byte) (performatives.InformCapabilities, error) {
	var version, offers []byte
	out := performatives.InformCapabilities{}
	jsonscan.Read(result, exchange.Rest(&out.Extra), jsonscan.Find("protocolVersion", &version), jsonscan.Find("capabilities", &offers))
	if v := jsonscan.Text(version); !slices.Contains(versions, v) && !slices.Contains(mcpVersions, v) {
		return out, performatives.Refused(performatives.CodeInvalidPayload, fmt.Sprintf("the peer speaks version %.32q of the protocol", v))
	}
	exchange.Keep(&out.Extra, "protocolVersion", version)
	own := capabilitiesOf(offers)
	out.Capabilities = &own
	if c.gzips(offers) {
		c.agree()
	}
	return out, nil
}

// agree starts the compression, unless it has started.
func (c *codec) agree() {
	if !c.done.Swap(true) {
		c.agreed.Store(true)
	}
}

// mayOffer reports whether an initialize of this node offers a compression: at most one
// per connection does.
func (c *codec) mayOffer() bool { return c.offers() && !c.done.Load() }

// compressionGzip is the one compression of TCP frames (addenda §5).
const compressionGzip = "gzip"

// offers reports whether the connection can compress.
func (c *codec) offers() bool { return slices.Contains(c.session.Compression, compressionGzip) }

// compression is the member of capabilities with the supported compressions.
const compression = "compression"

// gzips reports whether both ends can compress. The other end has a list of compressions, or one.
func (c *codec) gzips(capabilities []byte) bool {
	v := jsonscan.Member(capabilities, compression)
	texts, _ := jsonscan.Texts(v)
	return c.offers() && slices.Contains(append(texts, jsonscan.Text(v)), compressionGzip)
}

// capabilitiesOf reads the capabilities of an end: its listed tools as actions, its resources,
// topics and ontologies (extensions), and all other members unchanged.
func capabilitiesOf(v []byte) performatives.Capabilities {
	out := performatives.Capabilities{}
	rest := exchange.Rest(&out.Extra)
	jsonscan.Read(v, func(name string, v []byte) {
		switch list := jsonscan.Is(v, '['); {
		case name == "tools" && list:
			out.Actions = actionsOf(v)
		case name == "resources" && list:
			out.Resources = nil // the last list counts
			for elem := range jsonscan.Elements(v) {
				if r := resourceOf(elem); r.URI != "" && len(out.Resources) < maxTools {
					out.Resources = append(out.Resources, r)
				}
			}
		case name == "topics" && list:
			out.Topics, _ = jsonscan.Texts(v)
		case name == "ontologies" && list:
			out.Ontologies, _ = jsonscan.Texts(v)
		default:
			rest(name, v)
		}
	})
	return out
}

// offer returns the capabilities of an agent of this node for initialize.
func (c *codec) offer(own performatives.Capabilities) map[string]any {
	out := extraMembers(own.Extra)
	delete(out, compression) // it belongs to the connection of the peer, not to the agent
	setList(out, "tools", toolsOf(own.Actions, false))
	setList(out, "resources", own.Resources)
	setList(out, "topics", own.Topics)
	setList(out, "ontologies", own.Ontologies)
	if c.mayOffer() {
		out[compression] = []string{compressionGzip}
	}
	return out
}
