package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Encode writes m as one envelope: an answer to a request of the peer or its progress, or
// a message of this node. An answer to a request that is no longer pending is not written.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	c.mu.Lock()
	call := cmp.Or(c.calls.Find("", string(m.ConversationID())), c.calls.Find("", m.InReplyTo()))
	c.mu.Unlock()
	switch act := m.Performative(); {
	case call == nil:
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
	over, withdrawn := call.Over(), call.Withdrawn
	c.calls.Remove(call)
	c.mu.Unlock()
	switch {
	case over, withdrawn && call.batch == nil:
		return dst
	case withdrawn: // the batch may be complete without it
		return c.batched(dst, &call.address, nil)
	}
	r := m.AsRefusal()
	if _, ok := m.Payload().(performatives.Receipt); ok { // of a request that came again after its CANCEL
		r = exchange.Canceled("")
	}
	if r != nil {
		parameters := "params"
		if call.Kind == methodCall {
			parameters = "arguments"
		}
		r.Text = exchange.OfParameters(r.Text, parameters)
		f := faultOf(r, call)
		if _, extra, _ := performatives.RefusalIn(m.Payload()); jsonscan.Valid(extra["data"]) {
			f.raw = extra["data"] // of another gateway
		}
		f.data.Meta, f.data.Payload = refusalType(m)
		return c.tell(dst, &call.address, f, m)
	}
	result, err := c.resultFor(m, call)
	if err != nil || !jsonscan.Valid(result) {
		return c.tell(dst, &call.address, unwritable(false), nil)
	}
	out := c.answer(dst, &call.address, m, rpcAnswer(call.RPC, "result", result), nil)
	if call.hello != nil && call.hello.gzip && len(out) > len(dst) {
		c.agree()
	}
	return out
}

// resultFor returns the result of a call for its answer m.
func (c *codec) resultFor(m *performatives.Message, call *call) ([]byte, error) {
	switch {
	case call.hello != nil:
		return c.welcome(call.hello)
	case call.Kind == methodList:
		list, err := resultWith(m, func(p performatives.InformCapabilities) ([]byte, error) { return toolList(p, call.MCP) })
		return withMessageType(list, m, performatives.ActInformCapabilities), err
	case call.Kind == methodResources:
		return resultWith(m, func(p performatives.InformCapabilities) ([]byte, error) { return resourceList(p, call.Namespace) })
	case call.Kind == methodRead && m.Performative() == performatives.ActInformRef:
		return resultWith(m, resourceResult)
	case m.MessageType() != "":
		return typedResult(m, call)
	case m.Performative() != performatives.ActInformResult: // such as INFORM
		p := performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(m.Payload())}
		return resultJSON(p, call.Kind == methodCall)
	}
	return resultWith(m, func(p performatives.InformResult) ([]byte, error) { return resultJSON(p, call.Kind == methodCall) })
}

// resultWith returns the result that is written of the payload of m.
func resultWith[T any](m *performatives.Message, write func(T) ([]byte, error)) ([]byte, error) {
	p, err := exchange.PayloadAs[T](m)
	if err != nil {
		return nil, err
	}
	return write(p)
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
	return c.appendCall(dst, c.headerOf(m, call.Correlation), methodProgress, nil, func(b *jsonscan.Builder) {
		b.Raw(metaToken, call.Token)
		b.Value("progress", progress)
		if p.Progress != nil {
			b.Value("total", 100)
		}
		b.OptionalText("message", p.Description)
		if !p.Results.IsZero() {
			exchange.PutContent(b, "intermediate_results", p.Results)
		}
		putMessageType(b, m, performatives.ActStatusUpdate)
	})
}

// header has the members of an outgoing envelope, without its payload.
type header struct {
	id          string
	time        time.Time
	source      string
	target      string
	correlation []byte // as JSON; nil for none
	timeout     time.Duration
	message     *performatives.Message // the source of the metadata; nil for none
}

// headerOf returns the header of m, or of a message that the codec itself makes if m is nil. It
// answers the envelope with the id answered; empty = none.
func (c *codec) headerOf(m *performatives.Message, answered string) header {
	h := header{message: m}
	if answered != "" {
		h.correlation = jsonscan.AppendQuoted(nil, answered)
	}
	if m == nil {
		s := c.stamp()
		h.id, h.time, h.source = string(s.ID), s.Time, string(c.session.Local)
	} else {
		h.id, h.time, h.source = string(m.ID()), m.Timestamp(), string(m.Sender())
	}
	return h
}

// appendEnvelope appends an envelope with a payload: that of the answer m, or of one of the codec
// itself if m is nil. In a session without envelopes it appends the payload alone.
func (c *codec) appendEnvelope(dst []byte, o *address, m *performatives.Message, payload, fault []byte) ([]byte, error) {
	if c.bare.Load() {
		if !utf8.Valid(payload) {
			return dst, errors.New("gateway: want UTF-8")
		}
		return append(dst, payload...), nil
	}
	w := exchange.NewWriter(Name, m, dst)
	c.writeHeader(&w.Builder, c.headerOf(m, o.Correlation))
	if fault != nil {
		w.Raw("error", fault)
	}
	w.Raw("mcp_payload", payload)
	return w.Finish()
}

// appendCall appends the envelope of a request, or that of a notification for a nil id. Params
// writes the members of params; nil means no params.
func (c *codec) appendCall(dst []byte, h header, method string, id []byte, params func(*jsonscan.Builder)) ([]byte, error) {
	w, bare := exchange.NewWriter(Name, h.message, dst), c.bare.Load()
	if !bare {
		c.writeHeader(&w.Builder, h)
		w.Open("mcp_payload")
	}
	w.Raw("jsonrpc", []byte(jsonrpcVersion))
	w.Text("method", method)
	if params != nil {
		w.Open("params")
		params(&w.Builder)
		w.End()
	}
	if id != nil {
		w.Raw("id", id)
	}
	rest := performatives.Members{}
	for name, v := range h.message.AllMetadata() {
		if of, ok := strings.CutPrefix(name, prefixPayload); ok && jsonscan.Valid(v) && rpcMembers.Find([]byte(of)) == len(rpcMembers) {
			rest[of] = v
		}
	}
	w.Sorted(rest)
	if !bare {
		w.End()
	}
	return w.Finish()
}

// writeHeader writes the members of an envelope but its payload, in the order of wire.
func (c *codec) writeHeader(b *jsonscan.Builder, h header) {
	b.Text("id", h.id)
	b.Name("timestamp")
	b.JSON = h.time.UTC().AppendFormat(b.JSON, timeFormat)
	b.Text("source", h.source)
	b.OptionalText("target_namespace", h.target)
	if c.session.Initiator && c.session.Token != nil {
		if token := c.session.Token(); token != "" {
			b.Text("auth_token", "Bearer "+token)
		}
	}
	if h.correlation != nil {
		b.Raw("correlation_id", h.correlation)
	}
	writeMetadata(b, h)
}

// timeFormat is the format of wire for times: in UTC, with exactly milliseconds.
const timeFormat = `"2006-01-02T15:04:05.000Z"`

// rpcAnswer returns the JSON-RPC answer to the request of an id: its result, or its error.
func rpcAnswer(id []byte, name string, v []byte) []byte {
	b := jsonscan.OpenObject(make([]byte, 0, len(v)+len(id)+64))
	b.Raw("jsonrpc", []byte(jsonrpcVersion))
	b.Raw(name, v)
	b.Raw("id", id)
	return append(b.JSON, '}')
}
