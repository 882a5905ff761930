package gateway

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// initialize serves initialize of the peer.
func (c *codec) initialize(e *envelope, r *rpc, o *origin) wire.Inbound {
	if jsonscan.Is(r.params, '[') {
		return c.refused(e, o, invalidParams("", "an object", r.params))
	}
	if refusal := rule.Check(introduction, "mcp_payload.params", r.params, false); refusal != nil {
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

// The kinds of the members of an introduction that only gateway has.
var (
	aName      = &rule.Kind{Want: "a string or an array of strings", Fits: listOr(`"`, isText)}
	aTools     = &rule.Kind{Want: "an array of tools with a name, an object or a boolean", Fits: listOr("{tf", isTool)}
	aResources = &rule.Kind{Want: "an array of resources with a uri, an object or a boolean", Fits: listOr("{tf", isResource)}
)

func isText(v []byte) bool     { return jsonscan.Is(v, '"') }
func isTool(v []byte) bool     { return actionOf(v).Name != "" }
func isResource(v []byte) bool { return resourceOf(v).URI != "" }

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

// noVersion refuses a peer without a protocol version in common.
func (c *codec) noVersion(e *envelope, o *origin) wire.Inbound {
	refusal := &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: "mcp_payload.params.protocolVersion", Text: "there is no protocol version in common",
	}
	f := faultOf(refusal)
	f.data = faultData{Supported: slices.Concat(supported, mcpVersions)}
	return wire.Inbound{Token: e.token, Err: refusal, Ref: o, Answer: c.tell(nil, &o.address, f)}
}
