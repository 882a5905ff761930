package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The versions that are spoken here: this protocol's own, and those of the Model Context
// Protocol, each the newest first (addenda §5).
var (
	versions    = []string{"1.1", "1.0"}
	mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
)

// supported are the versions of this protocol's own as wire lists them.
var supported = slices.Sorted(slices.Values(versions))

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// compressionGzip is the one compression of TCP frames (addenda §5).
const compressionGzip = "gzip"

// hello is what an initialize settles.
type hello struct {
	version string
	mcp     bool // it is a version of MCP's
	gzip    bool // both ends compress after the reply
}

// negotiate chooses a version: the one that the peer prefers, else the newest that both
// know. A date that is unknown here is answered by our newest: MCP leaves it to the
// peer whether it speaks that. It reports false when there is none in common.
func negotiate(preferred string, others []string) (hello, bool) {
	if slices.Contains(versions, preferred) {
		return hello{version: preferred}, true
	}
	if slices.Contains(mcpVersions, preferred) {
		return hello{version: preferred, mcp: true}, true
	}
	for _, v := range versions {
		if slices.Contains(others, v) {
			return hello{version: v}, true
		}
	}
	for _, v := range mcpVersions {
		if slices.Contains(others, v) {
			return hello{version: v, mcp: true}, true
		}
	}
	if date.MatchString(preferred) {
		return hello{version: mcpVersions[0], mcp: true}, true
	}
	return hello{}, false
}

// initialize reads the peer's introduction.
func (c *codec) initialize(e *envelope, r *rpc, o *origin) wire.Inbound {
	var preferred, others, offers []byte
	extra := performatives.Members{}
	object(r.params, func(name string, v []byte) {
		if len(extra) < maxMembers && !secret(name) {
			extra[name] = bytes.Clone(v)
		}
	}, found{"protocolVersion", &preferred}, found{"supportedVersions", &others}, found{"capabilities", &offers})
	h, ok := negotiate(text(preferred), stringsOf(others))
	if !ok {
		return c.noVersion(e, o)
	}
	h.gzip = c.offers() && slices.Contains(compressions(offers), compressionGzip)
	own := capabilitiesOf(offers)
	in := c.serve(e, r, o, performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &own, Extra: extra}, &call{hello: &h})
	if in.Err == nil {
		c.mu.Lock()
		c.mcp = h.mcp
		c.mu.Unlock()
	}
	return in
}

// noVersion refuses a peer with which we have no version in common.
func (c *codec) noVersion(e *envelope, o *origin) wire.Inbound {
	refusal := &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: "mcp_payload.params.protocolVersion", Text: "there is no protocol version in common",
	}
	f := faultOf(refusal)
	f.data = faultData{Supported: slices.Concat(supported, mcpVersions)}
	return wire.Inbound{Token: e.token, Err: refusal, Ref: o, Answer: c.tell(nil, o, f)}
}

// offers reports whether the connection can compress.
func (c *codec) offers() bool { return slices.Contains(c.session.Compression, compressionGzip) }

// compressions reads the compression of some capabilities: a list, or one name.
func compressions(capabilities []byte) []string {
	var v []byte
	object(capabilities, nil, found{"compression", &v})
	if name := text(v); name != "" {
		return []string{name}
	}
	return stringsOf(v)
}

// maxList is how many elements of a list of names are looked at.
const maxList = 1024

// stringsOf reads the strings of an array.
func stringsOf(v []byte) (out []string) {
	w := walker{text: v}
	if !w.enter('[') {
		return nil
	}
	for range maxList {
		elem, ok := w.element()
		if !ok {
			break
		}
		if s := text(elem); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// capabilitiesOf reads what an end offers: its tools as actions where it lists them, its
// topics (an extension: what it knows about), and everything else as it came.
func capabilitiesOf(v []byte) performatives.Capabilities {
	out := performatives.Capabilities{}
	object(v, func(name string, v []byte) {
		switch {
		case name == "tools" && is(v, '['):
			out.Actions = actionsOf(v)
			return
		case name == "topics" && is(v, '['):
			out.Topics = stringsOf(v)
			return
		}
		if len(out.Extra) < maxMembers {
			out.Extra = with(out.Extra, name, bytes.Clone(v))
		}
	})
	return out
}

// maxTools is how many tools of a list are taken.
const maxTools = 10_000

// actionsOf reads a list of tools. What is none is passed over.
func actionsOf(v []byte) []performatives.Action {
	actions := []performatives.Action{}
	w := walker{text: v}
	w.enter('[')
	for len(actions) < maxTools {
		elem, ok := w.element()
		if !ok {
			break
		}
		if a := actionOf(elem); a.Name != "" {
			actions = append(actions, a)
		}
	}
	return actions
}

// actionOf reads a tool: an object, or its bare name.
func actionOf(v []byte) (a performatives.Action) {
	if is(v, '"') {
		a.Name = text(v)
		return a
	}
	var name, description, input, output []byte
	object(v, func(name string, v []byte) {
		if len(a.Extra) < maxMembers {
			a.Extra = with(a.Extra, name, bytes.Clone(v))
		}
	}, found{"name", &name}, found{"description", &description}, found{"inputSchema", &input}, found{"outputSchema", &output})
	a.Name, a.Description = text(name), text(description)
	a.InputSchema, a.OutputSchema = schema(input), schema(output)
	return a
}

func schema(v []byte) json.RawMessage {
	if !is(v, '{') {
		return nil
	}
	return bytes.Clone(v)
}

// program is a clientInfo or a serverInfo.
type program struct {
	Name              string   `json:"name"`
	Version           string   `json:"version"`
	SupportedVersions []string `json:"supportedVersions,omitempty"`
}

// offered are the capabilities that initialize answers with (wire, Capability Discovery).
type offered struct {
	Tools          any      `json:"tools"`
	Resources      *bool    `json:"resources,omitempty"` // not for MCP, where only an object may stand
	Streaming      bool     `json:"streaming"`
	BinaryProtocol bool     `json:"binary_protocol"`
	PerMessageAuth bool     `json:"per_message_auth"`
	RateLimiting   limits   `json:"rate_limiting"`
	Compression    []string `json:"compression,omitempty"`
}

type limits struct {
	Enabled      bool   `json:"enabled"`
	DefaultLimit int    `json:"default_limit,omitempty"`
	Window       string `json:"window,omitempty"`
}

// welcome is the result of initialize.
func (c *codec) welcome(h *hello) ([]byte, error) {
	o := offered{
		Tools: true, Resources: new(bool), Streaming: c.opts.Streaming, BinaryProtocol: c.opts.BinaryProtocol, PerMessageAuth: c.opts.PerMessageAuth,
	}
	if h.mcp {
		o.Tools, o.Resources = struct{}{}, nil
	}
	if c.opts.Rate.Messages > 0 {
		d := wire.ErrorObjectOf(&wire.LimitError{Limit: c.opts.Rate}).Details
		o.RateLimiting = limits{Enabled: true, DefaultLimit: d.Limit, Window: d.Window}
	}
	if h.gzip {
		o.Compression = []string{compressionGzip}
	}
	return marshal(struct {
		ProtocolVersion string  `json:"protocolVersion"`
		ServerInfo      program `json:"serverInfo"`
		Capabilities    offered `json:"capabilities"`
	}{h.version, program{c.opts.Name, c.opts.Version, supported}, o})
}

// introduction is the params of our own initialize.
func (c *codec) introduction(q performatives.QueryCapabilities) ([]byte, error) {
	capabilities, err := c.offer(*q.Capabilities)
	if err != nil {
		return nil, err
	}
	params := extraMembers(q.Extra)
	if _, ok := params["clientInfo"]; !ok {
		params["clientInfo"] = program{Name: c.opts.Name, Version: c.opts.Version}
	}
	params["protocolVersion"], params["supportedVersions"], params["capabilities"] = versions[0], supported, capabilities
	return marshal(params)
}

// offer is what an agent of ours can do, as capabilities of initialize.
func (c *codec) offer(own performatives.Capabilities) (map[string]any, error) {
	out := extraMembers(own.Extra)
	if len(own.Actions) > 0 {
		tools, err := toolsOf(own.Actions, false)
		if err != nil {
			return nil, err
		}
		out["tools"] = tools
	}
	if len(own.Topics) > 0 {
		out["topics"] = own.Topics
	}
	if c.offers() {
		out["compression"] = []string{compressionGzip}
	}
	return out, nil
}

// introduced reads the answer to our own initialize.
func (c *codec) introduced(result []byte) (performatives.InformCapabilities, error) {
	var version, offers []byte
	out := performatives.InformCapabilities{}
	object(result, func(name string, v []byte) {
		if len(out.Extra) < maxMembers {
			out.Extra = with(out.Extra, name, bytes.Clone(v))
		}
	}, found{"protocolVersion", &version}, found{"capabilities", &offers})
	if v := text(version); !slices.Contains(versions, v) && !slices.Contains(mcpVersions, v) {
		return out, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: fmt.Sprintf("the peer speaks version %.32q of the protocol", v)}
	}
	out.Extra = with(out.Extra, "protocolVersion", bytes.Clone(version))
	own := capabilitiesOf(offers)
	out.Capabilities = &own
	if c.offers() && slices.Contains(compressions(offers), compressionGzip) {
		c.agree()
	}
	return out, nil
}

// agree begins to compress, unless that has begun.
func (c *codec) agree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		c.done, c.agreed = true, compressionGzip
	}
}
