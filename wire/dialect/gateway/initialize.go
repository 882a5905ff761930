package gateway

import (
	"bytes"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// initialize serves initialize of the peer.
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
	in := c.serve(e, r, o, performatives.Envelope{
		Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &own, Extra: extra},
	}, &call{hello: &h})
	if in.Err == nil {
		c.mu.Lock()
		c.mcp = h.mcp
		c.mu.Unlock()
	}
	return in
}

// noVersion refuses a peer without a protocol version in common.
func (c *codec) noVersion(e *envelope, o *origin) wire.Inbound {
	refusal := &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: "mcp_payload.params.protocolVersion", Text: "there is no protocol version in common",
	}
	f := faultOf(refusal)
	f.data = faultData{Supported: slices.Concat(supported, mcpVersions)}
	return wire.Inbound{Token: e.token, Err: refusal, Ref: o, Answer: c.tell(nil, o, f)}
}
