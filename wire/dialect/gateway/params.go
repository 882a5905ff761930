package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// methodOf returns the method of a request: tools/call for a task; resources/read for QUERY_REF; initialize for a query
// with Capabilities of the end that opened the connection; else tools/list.
func (c *codec) methodOf(m *performatives.Message) (string, error) {
	if opensTask(m.Performative()) {
		return methodCall, nil
	}
	if m.Performative() == performatives.ActQueryRef {
		return methodRead, nil
	}
	p, err := exchange.PayloadAs[performatives.QueryCapabilities](m)
	if err == nil && c.session.Initiator && p.Capabilities != nil {
		return methodInitialize, nil
	}
	return methodList, err
}

// params returns the params of a request.
func (c *codec) params(m *performatives.Message, q *request) ([]byte, error) {
	switch q.method {
	case methodCall:
		if m.MessageType() != "" {
			return typedParams(m, string(q.ID))
		}
		return callParams(m, string(q.ID))
	case methodRead:
		p, err := exchange.PayloadAs[performatives.QueryRef](m)
		dst := jsonscan.AppendQuoted([]byte(`{"uri":`), p.Reference)
		return append(appendMeta(append(dst, `,"_meta":`...), nil, string(q.ID), m.Trace()), '}'), err
	case methodInitialize:
		p, err := exchange.PayloadAs[performatives.QueryCapabilities](m)
		if err != nil {
			return nil, err
		}
		return c.introduction(p)
	}
	return withMessageType([]byte("{}"), m, performatives.ActQueryCapabilities), nil
}

// callParams returns the params of tools/call, with the id of the request as the progress
// token.
func callParams(m *performatives.Message, token string) ([]byte, error) {
	p, err := exchange.PayloadAs[performatives.TaskRequest](m)
	if err != nil {
		return nil, err
	}
	dst := jsonscan.AppendQuoted([]byte(`{"name":`), p.TaskType)
	if p.Description != "" {
		dst = jsonscan.AppendQuoted(append(dst, `,"task_description":`...), p.Description)
	}
	if !p.Parameters.IsZero() {
		if dst, err = appendContent(append(dst, `,"arguments":`...), p.Parameters); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		switch v := p.Extra[name]; {
		case callMember(name) || len(v) == 0:
		case !jsonscan.Valid(v):
			return nil, fmt.Errorf("gateway: %.64q is no JSON", name)
		default:
			dst = append(append(jsonscan.AppendQuoted(append(dst, ','), name), ':'), v...)
		}
	}
	return append(appendMeta(append(dst, `,"_meta":`...), p.Extra["_meta"], token, m.Trace()), '}'), nil
}

// callMember reports whether a member of the params of tools/call has a field.
func callMember(name string) bool {
	switch name {
	case "name", "arguments", "_meta", "task_description", "task_type", "task_parameters":
		return true
	}
	return false
}

// appendMeta appends a _meta with that progress token and trace, which replace any others.
func appendMeta(dst, meta []byte, token, trace string) []byte {
	dst = appendTrace(append(append(dst, `{"progressToken":`...), token...), trace)
	if jsonscan.Valid(meta) {
		jsonscan.Read(meta, func(name string, v []byte) {
			if name == metaTrace && trace != "" {
				return
			}
			dst = append(append(jsonscan.AppendQuoted(append(dst, ','), name), ':'), v...)
		}, jsonscan.Find("progressToken", new([]byte)))
	}
	return append(dst, '}')
}

// metaTrace is the member of a _meta with the trace of a call (SEP-414).
const metaTrace = "traceparent"

// appendTrace appends the member of a _meta with a trace, if there is one.
func appendTrace(dst []byte, trace string) []byte {
	if trace == "" {
		return dst
	}
	return jsonscan.AppendQuoted(append(dst, `,"`+metaTrace+`":`...), trace)
}

// appendContent appends the JSON of a content: its text unchanged, or that of its Go value.
func appendContent(dst []byte, content performatives.Content) ([]byte, error) {
	if content.Value() != nil {
		text, err := jsonscan.Marshal(content)
		return append(dst, text...), err
	}
	text, err := content.MarshalJSON()
	if err != nil || !jsonscan.Valid(text) {
		return dst, errors.Join(errNoJSON, err)
	}
	return append(dst, text...), nil
}

var errNoJSON = errors.New("gateway: the payload is no JSON")
