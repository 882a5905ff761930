package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// program is a clientInfo or a serverInfo.
type program struct {
	Name              string   `json:"name"`
	Version           string   `json:"version"`
	SupportedVersions []string `json:"supportedVersions,omitempty"`
}

// offered has the capabilities in the answer to initialize (wire, Capability Discovery).
type offered struct {
	Tools          any      `json:"tools"`
	Resources      any      `json:"resources"`
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

// welcome returns the result of initialize.
func (c *codec) welcome(h *hello) ([]byte, error) {
	o := offered{
		Tools: true, Resources: true, BinaryProtocol: c.opts.BinaryProtocol, PerMessageAuth: c.opts.PerMessageAuth,
	}
	if h.mcp {
		o.Tools, o.Resources = json.RawMessage(`{"listChanged":true}`), json.RawMessage("{}") // MCP demands objects
	}
	if c.opts.Rate.Messages > 0 {
		d := wire.ErrorObjectOf(&wire.LimitError{Limit: c.opts.Rate}).Details
		o.RateLimiting = limits{Enabled: true, DefaultLimit: d.Limit, Window: d.Window}
	}
	if h.gzip {
		o.Compression = []string{compressionGzip}
	}
	return jsonscan.Marshal(struct {
		ProtocolVersion string  `json:"protocolVersion"`
		ServerInfo      program `json:"serverInfo"`
		Capabilities    offered `json:"capabilities"`
	}{h.version, program{c.opts.Name, c.opts.Version, supported}, o})
}

// introduce returns the params of an initialize of this node.
func (c *codec) introduce(q performatives.QueryCapabilities) ([]byte, error) {
	capabilities, err := c.offer(*q.Capabilities)
	if err != nil {
		return nil, err
	}
	params := extraMembers(q.Extra)
	if _, ok := params["clientInfo"]; !ok {
		params["clientInfo"] = program{Name: c.opts.Name, Version: c.opts.Version}
	}
	params["protocolVersion"], params["supportedVersions"], params["capabilities"] = versions[0], supported, capabilities
	return jsonscan.Marshal(params)
}

// introduced reads the answer to an initialize of this node.
func (c *codec) introduced(result []byte) (performatives.InformCapabilities, error) {
	var version, offers []byte
	out := performatives.InformCapabilities{}
	jsonscan.Read(result, exchange.Rest(&out.Extra, nil), jsonscan.Find("protocolVersion", &version), jsonscan.Find("capabilities", &offers))
	if v := jsonscan.Text(version); !slices.Contains(versions, v) && !slices.Contains(mcpVersions, v) {
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

// agree starts the compression, unless it has started.
func (c *codec) agree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		c.done, c.agreed = true, compressionGzip
	}
}

// mayOffer reports whether an initialize of this node offers a compression: at most one
// per connection does.
func (c *codec) mayOffer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offers() && !c.done
}

// offering records a request of this node before it is written. An initialize offers a
// compression.
func (c *codec) offering(q *request) {
	if q.method != methodInitialize || !c.mayOffer() {
		return
	}
	c.mu.Lock()
	c.offered = q
	c.mu.Unlock()
}

// settled records the answer to a request of this node.
func (c *codec) settled(q *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.offered == q {
		c.offered, c.done = nil, true
	}
}

// compressionGzip is the one compression of TCP frames (addenda §5).
const compressionGzip = "gzip"

// offers reports whether the connection can compress.
func (c *codec) offers() bool { return slices.Contains(c.session.Compression, compressionGzip) }
