package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// initialize serves initialize of the peer.
func (c *codec) initialize(e *envelope, r *rpc, o *origin) wire.Inbound {
	if refusal := checkIntroduction(r.params); refusal != nil {
		return c.refused(e, o, refusal)
	}
	var preferred, others, offers []byte
	extra := performatives.Members{}
	jsonscan.Read(r.params, func(name string, v []byte) {
		if len(extra) < maxMembers && !secret(name) {
			extra[name] = bytes.Clone(v)
		}
	}, jsonscan.Find("protocolVersion", &preferred), jsonscan.Find("supportedVersions", &others), jsonscan.Find("capabilities", &offers))
	h, ok := negotiate(jsonscan.Text(preferred), stringsOf(others))
	if !ok {
		return c.noVersion(e, o)
	}
	if c.bare() {
		h.mcp = true
		c.named(r.params)
		e.source = c.source
	}
	h.gzip = c.offers() && slices.Contains(compressions(offers), compressionGzip)
	own := capabilitiesOf(offers)
	in := c.serve(e, r, o, performatives.Envelope{
		Receiver: c.queried(e, r.method),
		Payload:  performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &own, Extra: extra},
	}, &call{hello: &h})
	if in.Err == nil {
		c.mu.Lock()
		c.mcp = h.mcp
		c.mu.Unlock()
	}
	return in
}

// checkIntroduction returns the refusal of params of initialize with a member of the wrong type.
// A member that is null counts as absent.
func checkIntroduction(params []byte) *performatives.Refusal {
	if jsonscan.Is(params, '[') {
		return invalidParams("", "an object", params)
	}
	var preferred, others, offers, methods, tools, resources, topics []byte
	jsonscan.Read(params, nil, jsonscan.Find("protocolVersion", &preferred), jsonscan.Find("supportedVersions", &others), jsonscan.Find("capabilities", &offers))
	jsonscan.Read(offers, nil, jsonscan.Find(compression, &methods), jsonscan.Find("tools", &tools), jsonscan.Find("resources", &resources), jsonscan.Find("topics", &topics))
	isString := func(v []byte) bool { return jsonscan.Is(v, '"') }
	for _, m := range []struct {
		name, want string
		value      []byte
		begins     string                 // the first characters of its kinds
		element    string                 // what an element is, if it may be an array
		elements   func(elem []byte) bool // whether it is one
	}{
		{"protocolVersion", "a string", preferred, `"`, "", nil},
		{"supportedVersions", "an array of strings", others, `[`, "a string", isString},
		{"capabilities", "an object", offers, `{`, "", nil},
		{"capabilities." + compression, "a string or an array of strings", methods, `"[`, "a string", isString},
		{"capabilities.tools", "an array of tools, an object or a boolean", tools, `[{tf`, "a tool with a name", func(v []byte) bool { return actionOf(v).Name != "" }},
		{"capabilities.resources", "an array of resources, an object or a boolean", resources, `[{tf`, "a resource with a uri", func(v []byte) bool { return resourceOf(v).URI != "" }},
		{"capabilities.topics", "an array of strings", topics, `[`, "a string", isString},
	} {
		if m.value == nil || jsonscan.IsNull(m.value) {
			continue
		}
		if !strings.Contains(m.begins, string(m.value[:1])) {
			return invalidParams(m.name, m.want, m.value)
		}
		i := 0
		for elem := range jsonscan.Elements(m.value) {
			if !m.elements(elem) {
				return invalidParams(fmt.Sprintf("%s[%d]", m.name, i), m.element, elem)
			}
			i++
		}
	}
	return nil
}

// noVersion refuses a peer without a protocol version in common.
func (c *codec) noVersion(e *envelope, o *origin) wire.Inbound {
	refusal := &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: "mcp_payload.params.protocolVersion", Text: "there is no protocol version in common",
	}
	f := faultOf(refusal)
	f.data = faultData{Supported: slices.Concat(supported, mcpVersions)}
	return wire.Inbound{Token: e.token, Err: refusal, Ref: o, Answer: c.tell(nil, &o.address, f)}
}
