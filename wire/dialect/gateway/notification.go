package gateway

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// notification returns the meaning of a notification of the peer. It gets no answer.
func (c *codec) notification(e *envelope, r *rpc, o *origin) wire.Inbound {
	switch r.method {
	case methodInitialized:
		return wire.Inbound{Token: e.token, Ref: o} // the answer to initialize has settled the session
	case methodCancelled:
		return c.cancelled(e, r, o)
	case methodProgress:
		if in, ok := c.progress(e, r, o); ok {
			return in
		}
	}
	return c.inform(e, r, o)
}

// notified has the acts of the notifications that are named after an act.
var notified = map[string]performatives.Performative{
	"confirm": performatives.ActConfirm, "disconfirm": performatives.ActDisconfirm,
}

// inform makes the message of a notification.
func (c *codec) inform(e *envelope, r *rpc, o *origin) wire.Inbound {
	act := performatives.ActInform
	if a, ok := notified[strings.TrimPrefix(r.method, notifications)]; ok {
		act = a
	}
	payload := bytes.Clone(r.params)
	if jsonscan.Is(payload, '[') { // a payload must be an object
		payload = append(append([]byte(`{"params":`), payload...), '}')
	}
	t, refusal := readMessageType(metaOf(payload), "mcp_payload.params."+memberMeta)
	if refusal != nil {
		return wire.Inbound{Token: e.token, Err: refusal, Ref: o}
	}
	own := *r
	own.extra = with(r.extra, metadataMethod, jsonscan.AppendQuoted(nil, r.method))
	env := performatives.Envelope{ID: c.stamp().ID, Performative: act, MessageType: t.name}
	if r.method == methodListChanged && payload == nil {
		env.Ontology = performatives.OntologyCapabilityInformation
	}
	switch {
	case t.name != "":
		var err error
		if env.Payload, err = c.session.Registry.DecodeTyped(act, t.name, "", withoutMessageType(payload)); err != nil {
			return wire.Inbound{Token: e.token, Err: renamed(err), Ref: o}
		}
	case payload != nil:
		env.Payload = performatives.Raw(payload)
	}
	m, err := c.message(e, &own, env)
	if err != nil {
		return wire.Inbound{Token: e.token, Err: renamed(err), Ref: o}
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r), Ref: o}
}

// cancelled withdraws a request. One that is not pending never starts, should it come; it has no
// effect for one that has ended, or that has another source, as MCP demands.
func (c *codec) cancelled(e *envelope, r *rpc, o *origin) wire.Inbound {
	var id, reason []byte
	jsonscan.Read(r.params, nil, jsonscan.Find("requestId", &id), jsonscan.Find("reason", &reason))
	nothing := wire.Inbound{Token: e.token, Ref: o}
	t, refusal := readMessageType(r.readMeta(), "mcp_payload.params."+memberMeta)
	if refusal != nil {
		nothing.Err = refusal
		return nothing
	}
	c.mu.Lock()
	of := c.pending.ids.Latest(key(id))
	if of != nil && !of.Asker.Is(e.source) {
		of = nil
	}
	if of == nil && !jsonscan.IsNull(id) {
		c.pending.withdrawn.Note(jsonID{e.source.Fold(), key(id)}, c.stamp().Time)
	}
	if of == nil || of.Withdrawn || of.hello != nil {
		c.mu.Unlock()
		return nothing
	}
	of.Withdrawn = true
	c.mu.Unlock()
	o.cancels = of
	s := c.stamp()
	m, err := c.message(e, r, performatives.Envelope{
		ID: s.ID, Receiver: of.Receiver, ConversationID: of.Conversation, InReplyTo: string(of.ID), ReplyWith: string(s.ID),
		ReplyBy: of.ReplyBy, Priority: max(of.Priority, performatives.High), Payload: performatives.Cancel{Reason: jsonscan.Text(reason)},
		MessageType: t.name,
	})
	if err != nil {
		c.Refuse(nil, nothing, err)
		return nothing
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r), Ref: o}
}

// progress reads the progress of a request of this node. It reports false for a
// notification without a token.
func (c *codec) progress(e *envelope, r *rpc, o *origin) (wire.Inbound, bool) {
	var token, done, total, message, results []byte
	jsonscan.Read(r.params, nil, jsonscan.Find("progressToken", &token), jsonscan.Find("progress", &done), jsonscan.Find("total", &total), jsonscan.Find("message", &message), jsonscan.Find("intermediate_results", &results))
	if token == nil {
		return wire.Inbound{}, false
	}
	nothing := wire.Inbound{Token: e.token, Ref: o} // the request has ended
	c.mu.Lock()
	q := c.pending.requests.Find("", idText(token))
	over := q == nil || q.cancel != nil
	c.mu.Unlock()
	if over {
		return nothing, true
	}
	m, err := c.progressed(e, r, q, performatives.StatusUpdate{Progress: percentage(done, total), Description: jsonscan.Text(message)}, results)
	if err != nil {
		return wire.Inbound{Token: e.token, Err: renamed(err), Ref: o}, true
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r), Ref: o}, true
}

// progressed makes the STATUS_UPDATE of a notification. One with a message type has the
// intermediate results as its payload.
func (c *codec) progressed(e *envelope, r *rpc, q *request, update performatives.StatusUpdate, results []byte) (*performatives.Message, error) {
	t, refusal := readMessageType(r.readMeta(), "mcp_payload.params."+memberMeta)
	if refusal != nil {
		return nil, refusal
	}
	if t.name != "" {
		t.act = performatives.ActStatusUpdate
		payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", results)
		if err != nil {
			return nil, err
		}
		return c.typedReply(e, r, q.message, t, payload)
	}
	if results != nil {
		update.Results = performatives.RawContent(objectOf(bytes.Clone(results), "result"))
	}
	return c.reply(e, r, q.message, performatives.ActStatusUpdate, update)
}

// percentage returns the progress in percent; nil means unknown.
func percentage(done, total []byte) *float64 {
	d, err := strconv.ParseFloat(string(done), 64)
	if err != nil {
		return nil
	}
	t, err := strconv.ParseFloat(string(total), 64)
	if err != nil || t <= 0 {
		return nil
	}
	p := min(max(d/t*100, 0), 100)
	return &p
}

// reply makes the peer's message about a request of this node. Its sender is the receiver
// of the request, also when the envelope has another source: that source answers on the
// receiver's behalf.
func (c *codec) reply(e *envelope, r *rpc, to *performatives.Message, act performatives.Performative, payload any) (*performatives.Message, error) {
	from := to.Receiver()
	if from == "" {
		from = e.source
	}
	m, err := to.ReplyFrom(from, performatives.Stamp{ID: c.stamp().ID, Time: e.timestamp}, act, payload)
	if err != nil || len(e.metadata)+len(r.extra) == 0 {
		return m, err
	}
	return m.With(func(env *performatives.Envelope) { env.Metadata = metadataFor(e, r) })
}
