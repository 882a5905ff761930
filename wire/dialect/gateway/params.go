package gateway

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// methodOf returns the method of a request: tools/call for a task; resources/read for QUERY_REF;
// initialize for a query with Capabilities of the end that opened the connection; else tools/list.
func (c *codec) methodOf(m *performatives.Message) (string, error) {
	if exchange.Opening.Has(m.Performative()) {
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

// params writes the params of a request.
func (c *codec) params(b *jsonscan.Builder, m *performatives.Message, q *request) error {
	switch q.method {
	case methodList:
		b.Raw("params", withMessageType([]byte("{}"), m, performatives.ActQueryCapabilities))
		return nil
	case methodInitialize:
		p, err := exchange.PayloadAs[performatives.QueryCapabilities](m)
		if err != nil {
			return err
		}
		params, err := c.introduce(p)
		b.Raw("params", params)
		return err
	}
	b.Open("params")
	defer b.End()
	switch {
	case q.method == methodRead:
		p, err := exchange.PayloadAs[performatives.QueryRef](m)
		if err != nil {
			return err
		}
		b.Text("uri", p.Reference)
		b.Open(memberMeta)
		q.writeMeta(b)
		b.End()
		return nil
	case m.MessageType() != "":
		typedParams(b, m, q)
		return nil
	}
	return callParams(b, m, q)
}

// callParams writes the params of tools/call, with the id of the request as the progress token.
func callParams(b *jsonscan.Builder, m *performatives.Message, q *request) error {
	p, err := exchange.PayloadAs[performatives.TaskRequest](m)
	if err != nil {
		return err
	}
	b.Text("name", p.TaskType)
	if p.Description != "" {
		b.Text("task_description", p.Description)
	}
	if !p.Parameters.IsZero() {
		exchange.PutContent(b, "arguments", p.Parameters)
	}
	b.Sorted(p.Extra, "name", "arguments", memberMeta, "task_description", "task_type", "task_parameters")
	b.Open(memberMeta)
	q.writeMeta(b)
	if meta := p.Extra[memberMeta]; jsonscan.Valid(meta) {
		jsonscan.Read(meta, func(name string, v []byte) {
			if name != metaTrace || m.Trace() == "" {
				b.Raw(name, v)
			}
		}, jsonscan.Find(metaToken, new([]byte)))
	}
	b.End()
	return nil
}

// metaTrace is the member of a _meta with the trace of a call (SEP-414).
const metaTrace = "traceparent"

// writeMeta writes the progress token and the trace of a request, the members of its _meta.
func (q *request) writeMeta(b *jsonscan.Builder) {
	b.Raw(metaToken, q.number())
	if trace := q.message.Trace(); trace != "" {
		b.Text(metaTrace, trace)
	}
}
