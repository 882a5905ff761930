package gateway

import (
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// ask writes a request. A retry of a request that is under way is not written: a
// connection loses nothing, so that the peer has the first copy.
func (c *codec) ask(dst []byte, m *performatives.Message) ([]byte, error) {
	now, method := c.stamp(), c.methodOf(m)
	q := &request{Request: exchange.Request{Kind: method, Expires: exchange.Expiry(m.ReplyBy(), now.Time, defaultTimeout)}, envelope: string(m.ID()), message: exchange.Outline(m)}
	again, err := c.register(q, now)
	if err != nil || again {
		return dst, err
	}
	out, err := c.appendRequest(dst, q, m, now.Time)
	if err == nil && method == methodInitialize && c.mayOffer() {
		c.offered.Store(q)
	}
	return out, err
}

// appendRequest appends the frame of a pending request. It drops the request after an error.
func (c *codec) appendRequest(dst []byte, q *request, m *performatives.Message, now time.Time) ([]byte, error) {
	h := c.headerTo(m)
	h.id = q.envelope
	if by := m.ReplyBy(); !by.IsZero() {
		h.timeout = min(max(by.Sub(now), time.Millisecond), maxTimeout)
	}
	if q.pages.next != nil {
		h.time = now
	}
	out, err := c.appendCall(dst, h, q.Kind, q.number(), func(b *jsonscan.Builder) { c.params(b, m, q) })
	if err == nil && !c.fits(len(out)-len(dst)) {
		err = m.Refused(performatives.CodeInvalidPayload, "the message is longer than the connection carries")
	}
	if err != nil {
		c.drop(q)
		return dst, err
	}
	return out, nil
}

// register adds a request to the pending ones and gives it its ids. again is true for a
// retry of a request that is under way.
func (c *codec) register(q *request, s performatives.Stamp) (again bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.ahead.Check(q.message, false, func() time.Time { return s.Time }); r != nil {
		return false, r
	}
	if other := c.parties.Latest(q.party()); other != nil && other.cancel == nil {
		if other.message.ID() == q.message.ID() {
			return true, nil
		}
		return false, q.message.Refused(performatives.CodeUnexpectedAct, "the peer has not answered the conversation's last request")
	}
	if c.envelopes.Latest(q.envelope) != nil {
		q.envelope = string(s.ID) // a message of another agent has the same id
	}
	if !c.requests.Room(s.Time) {
		return false, q.message.Refused(performatives.CodeBusy, "too many requests to the agent are under way")
	}
	c.add(q)
	return false, nil
}

// headerTo returns the header of a message that answers none. It has the correlation_id with which
// a gateway has decoded the message.
func (c *codec) headerTo(m *performatives.Message) header {
	h := c.headerOf(m, "")
	h.target = string(m.Receiver())
	if v, ok := m.Metadata(metadataCorrelation); ok && jsonscan.Valid(v) {
		h.correlation = v
	}
	return h
}

// methodOf returns the method of a request: tools/call for a task; resources/read for QUERY_REF;
// initialize for a query with Capabilities of the end that opened the connection; else tools/list.
func (c *codec) methodOf(m *performatives.Message) string {
	if exchange.Opening.Has(m.Performative()) {
		return methodCall
	}
	if m.Performative() == performatives.ActQueryRef {
		return methodRead
	}
	if p, err := exchange.PayloadAs[performatives.QueryCapabilities](m); err == nil && c.session.Initiator && p.Capabilities != nil {
		return methodInitialize
	}
	return methodList
}

// params writes the params of a request.
func (c *codec) params(b *jsonscan.Builder, m *performatives.Message, q *request) {
	switch {
	case q.pages.next != nil:
		b.Raw(paramCursor, q.pages.next)
	case q.Kind == methodList:
		putMessageType(b, m, performatives.ActQueryCapabilities)
	case q.Kind == methodInitialize:
		c.introduce(b, exchange.Content[performatives.QueryCapabilities](b, m))
	default:
		callParams(b, m, q)
	}
}

// callParams writes the params of resources/read and of tools/call. The tool of a message type has
// the name of that, and its payload as the arguments. The progress token is the id of the request.
func callParams(b *jsonscan.Builder, m *performatives.Message, q *request) {
	var meta []byte
	switch {
	case q.Kind == methodRead:
		b.Text("uri", exchange.Content[performatives.QueryRef](b, m).Reference)
	case m.MessageType() == "":
		p := exchange.Content[performatives.TaskRequest](b, m)
		b.Text("name", p.TaskType)
		b.OptionalText("task_description", p.Description)
		if !p.Parameters.IsZero() {
			exchange.PutContent(b, "arguments", p.Parameters)
		}
		b.Sorted(p.Extra, "name", "arguments", memberMeta, "task_description", "task_type", "task_parameters")
		meta = p.Extra[memberMeta]
	default:
		b.Text("name", m.MessageType())
		if m.Payload() != nil {
			arguments, err := exchange.Object(Name, m.Payload())
			b.Fail(err)
			b.Raw("arguments", arguments)
		}
	}
	b.Open(memberMeta)
	b.Raw(metaToken, q.number())
	b.OptionalText(metaTrace, m.Trace())
	if m.MessageType() != "" {
		writeMessageType(b, m, performatives.ActTaskRequest)
	}
	if jsonscan.Valid(meta) {
		jsonscan.Read(meta, func(name string, v []byte) {
			if name != metaTrace || m.Trace() == "" {
				b.Raw(name, v)
			}
		}, jsonscan.Find(metaToken, new([]byte)))
	}
	b.End()
}

// metaTrace is the member of a _meta with the trace of a call (SEP-414).
const metaTrace = "traceparent"
