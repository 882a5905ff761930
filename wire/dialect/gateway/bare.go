package gateway

import (
	"bytes"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// form is the form of the frames of a session.
type form uint8

const (
	unknownForm form = iota
	enveloped
	bare // JSON-RPC without envelopes, as the transports of MCP write it (addenda §9)
)

// formOf returns the form of an object with the member mcp_payload, or with error and source, or
// with jsonrpc and without mcp_payload; or of an array that begins with one. It does not check the
// members.
func formOf(frame []byte) form {
	s := jsonscan.Scanner{Data: frame, Depth: exchange.MaxDepth}
	if s.Peek() == '[' {
		s.Open('[')
	}
	var payload, broken, source, rpc bool
	exchange.Keys(&s, func(name string) {
		payload = payload || name == "mcp_payload"
		broken = broken || name == "error"
		source = source || name == "source"
		rpc = rpc || name == "jsonrpc"
	})
	switch {
	case payload:
		return enveloped
	case rpc:
		return bare
	case broken && source:
		return enveloped
	}
	return unknownForm
}

// bareSource is the label of a client without envelopes that has not named itself in initialize.
const bareSource = "mcp-client"

// readBare reads a frame without an envelope: a JSON-RPC message, or a batch.
func (c *codec) readBare(frame []byte) envelope {
	e := envelope{source: c.source, timestamp: c.stamp().Time}
	if e.Refusal = exchange.CheckText(frame, c.session.MaxBytes); e.Refusal != nil {
		return e
	}
	s := jsonscan.Scanner{Data: frame, Depth: c.opts.MaxDepth}
	if !s.Value() || !s.End() {
		e.Refuse(exchange.Broken(s.Problem()))
		return e
	}
	e.payload = bytes.TrimSpace(frame)
	return e
}

// named makes the name of the client's program the label of a session without envelopes, unless
// that cannot be the id of an agent, or is that of a namespace.
func (c *codec) named(params []byte) {
	name := performatives.AgentID(jsonscan.Text(jsonscan.Member(jsonscan.Member(params, "clientInfo"), "name")))
	if name != "" && performatives.CheckID(name) == nil && name.Fold() != NamespaceSystem && name.Fold() != NamespaceDefault {
		c.source = name
	}
}

// bared returns a fault without the member of the envelope in which its JSON-RPC message would be.
func (f fault) bared() fault {
	const in = "mcp_payload"
	f.object.Message = strings.Replace(strings.TrimPrefix(f.object.Message, in+"."), in, "message", 1)
	if d := f.data.ErrorDetails; d != nil {
		d.Field = strings.TrimPrefix(strings.TrimPrefix(d.Field, in), ".")
	}
	return f
}
