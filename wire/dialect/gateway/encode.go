package gateway

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Encode writes m as one envelope: an answer to a request of the peer or its progress, or
// a message of this node. An answer to a request that is no longer pending is not written.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	c.mu.Lock()
	call := c.pending.callOf(m)
	c.mu.Unlock()
	if call == nil {
		return c.own(dst, m)
	}
	switch act := m.Performative(); {
	case act == performatives.ActStatusUpdate:
		return c.news(dst, m, call)
	case exchange.Interim.Has(act):
		return dst, nil // JSON-RPC has one answer, the result
	case results.Has(act), exchange.Refusals.Has(act), act == performatives.ActRejectProposal:
		return c.end(dst, m, call), nil
	}
	return c.own(dst, m)
}

// end writes the answer to a call. It writes nothing for a call that has been answered.
func (c *codec) end(dst []byte, m *performatives.Message, call *call) []byte {
	c.mu.Lock()
	over := call.Over()
	c.pending.calls.Remove(call)
	c.mu.Unlock()
	switch {
	case over:
		return dst
	case call.Withdrawn && call.batch == nil:
		return dst
	case call.Withdrawn: // the batch may be complete without it
		return c.batched(dst, &call.address, nil)
	}
	h := headerOf(m, call.Correlation)
	if r := refusalIn(m); r != nil {
		r.Text = call.inItsWords(r.Text)
		f := call.faultOf(r)
		if c.bare() {
			f = f.bared()
		}
		if _, extra, _ := performatives.RefusalIn(m.Payload()); jsonscan.Valid(extra["data"]) {
			f.raw = extra["data"] // of another gateway
		}
		f.data.Meta, f.data.Payload = refusalType(m)
		h.fault = f.object.JSON()
		return c.answer(dst, &call.address, f.rpc(call.RPC), h)
	}
	result, err := c.resultFor(m, call)
	if err != nil || !jsonscan.Valid(result) {
		return c.tell(dst, &call.address, call.faultOf(&performatives.Refusal{Code: performatives.CodeFailed, Text: "the answer cannot be written"}))
	}
	out := c.answer(dst, &call.address, appendRPC(nil, member{"result", result}, member{"id", call.RPC}), h)
	if call.hello != nil && call.hello.gzip && len(out) > len(dst) {
		c.agree()
	}
	return out
}

// refusalIn returns the refusal that an answer is, or nil. The receipt for a CANCEL is one for a
// request that came again after it was cancelled.
func refusalIn(m *performatives.Message) *performatives.Refusal {
	if _, ok := m.Payload().(performatives.Receipt); ok {
		return &performatives.Refusal{Code: performatives.CodeCanceled, Text: performatives.CodeCanceled.Traits().Text}
	}
	return m.AsRefusal()
}

// inItsWords returns an error text about task_parameters with the peer's name for them.
func (c *call) inItsWords(text string) string {
	rest, ok := strings.CutPrefix(text, "task_parameters")
	switch {
	case !ok:
		return text
	case c.Method == methodCall:
		return "arguments" + rest
	}
	return "params" + rest
}

// resultFor returns the result of a call for its answer m.
func (c *codec) resultFor(m *performatives.Message, call *call) ([]byte, error) {
	switch {
	case call.hello != nil:
		return c.welcome(call.hello)
	case call.Method == methodList:
		p, err := exchange.PayloadAs[performatives.InformCapabilities](m)
		if err != nil {
			return nil, err
		}
		list, err := toolList(p, call.MCP)
		return withMessageType(list, m, performatives.ActInformCapabilities), err
	case call.Method == methodResources:
		p, err := exchange.PayloadAs[performatives.InformCapabilities](m)
		if err != nil {
			return nil, err
		}
		return resourceList(p, call.Namespace)
	case call.Method == methodRead && m.Performative() == performatives.ActInformRef:
		p, err := exchange.PayloadAs[performatives.InformRef](m)
		if err != nil {
			return nil, err
		}
		return resourceResult(p)
	case m.MessageType() != "":
		return typedResult(m, call)
	case m.Performative() != performatives.ActInformResult:
		return plainResult(m, call.Method == methodCall)
	}
	p, err := exchange.PayloadAs[performatives.InformResult](m)
	if err != nil {
		return nil, err
	}
	if call.Method == methodCall {
		return toolResult(p)
	}
	return methodResult(p)
}

// news writes the progress of a call, if the peer gave a progress token. Without a percentage it
// repeats the last one: MCP demands a number.
func (c *codec) news(dst []byte, m *performatives.Message, call *call) ([]byte, error) {
	p, err := exchange.PayloadAs[performatives.StatusUpdate](m)
	switch {
	case m.MessageType() != "":
		p.Results = performatives.ContentOf(m.Payload())
	case err != nil:
		return dst, fmt.Errorf("gateway: progress: %w", err)
	}
	c.mu.Lock()
	if p.Progress != nil {
		call.Progress = *p.Progress
	}
	progress, over := call.Progress, call.Withdrawn
	c.mu.Unlock()
	if call.Token == nil || over {
		return dst, nil
	}
	b := jsonscan.OpenObject(nil)
	b.Raw(metaToken, call.Token)
	b.Value("progress", progress)
	if p.Progress != nil {
		b.Value("total", progressOf100)
	}
	if p.Description != "" {
		b.Text("message", p.Description)
	}
	if !p.Results.IsZero() {
		exchange.PutContent(&b, "intermediate_results", p.Results)
	}
	params, err := b.Close()
	if err != nil {
		return dst, err
	}
	params = withMessageType(params, m, performatives.ActStatusUpdate)
	return c.appendCall(dst, headerOf(m, call.Correlation), methodProgress, nil, rawParams(params))
}
