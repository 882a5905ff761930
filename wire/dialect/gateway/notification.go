package gateway

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// notification returns the meaning of a notification of the peer. It gets no answer.
func (c *codec) notification(e *envelope, r *rpc, o *origin) wire.Inbound {
	switch r.method {
	case methodInitialized:
		return wire.Inbound{Token: e.token, Ref: o} // the answer to initialize has settled the session
	case methodCancelled:
		return c.cancelled(e, r, o)
	case methodListChanged:
		to := strings.ToLower(Namespace(e.target, r.method))
		_, offers := c.providers[e.source.Fold()]
		if offers && r.params == nil && (to == NamespaceSystem || to == NamespaceDefault) {
			return c.askTools(e.token, e.source) // they have changed
		}
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
	act := cmp.Or(notified[strings.TrimPrefix(r.method, notifications)], performatives.ActInform)
	payload := bytes.Clone(r.params)
	if payload != nil {
		payload = objectOf(payload, "params")
	}
	t := readMessageType(&r.Fault, jsonscan.Member(payload, memberMeta), pathMeta)
	exchange.Keep(&r.extra, metadataMethod, jsonscan.AppendQuoted(nil, r.method))
	env := performatives.Envelope{ID: c.stamp().ID, Performative: act, MessageType: t.name}
	if r.method == methodListChanged && payload == nil {
		env.Ontology = performatives.OntologyCapabilityInformation
	}
	switch {
	case t.name != "":
		t.act = act
		env.Payload = c.decodeTyped(r, t, withoutMessageType(payload))
	case payload != nil:
		env.Payload = performatives.Raw(payload)
	}
	m, err := c.message(e, r, env)
	return received(e, r, o, m, err)
}

// cancelled withdraws a request. One that is not pending never starts, should it come; it has no
// effect for one that has ended, or that has another source, as MCP demands.
func (c *codec) cancelled(e *envelope, r *rpc, o *origin) wire.Inbound {
	id, reason := jsonscan.Member(r.params, "requestId"), jsonscan.Member(r.params, "reason")
	nothing := wire.Inbound{Token: e.token, Ref: o}
	t := readMessageType(&r.Fault, r.readMeta(), pathMeta)
	if nothing.Err = r.Refusal; r.Refusal != nil {
		return nothing
	}
	c.mu.Lock()
	of := c.ids.Latest(key(id))
	if of != nil && !of.Asker.Is(e.source) {
		of = nil
	}
	if of == nil {
		c.withdrawn.Note(exchange.KeyOf(e.source, key(id)), c.stamp().Time)
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
	return received(e, r, o, m, err)
}

// progress reads the progress of a request of this node. Progress with a message type has the
// intermediate results as its payload. It reports false for a notification without a token.
func (c *codec) progress(e *envelope, r *rpc, o *origin) (wire.Inbound, bool) {
	var token, done, total, message, results []byte
	jsonscan.Read(r.params, nil, jsonscan.Find("progressToken", &token), jsonscan.Find("progress", &done), jsonscan.Find("total", &total), jsonscan.Find("message", &message), jsonscan.Find("intermediate_results", &results))
	if token == nil {
		return wire.Inbound{}, false
	}
	c.mu.Lock()
	q := c.requests.Find("", idText(token))
	over := q == nil || q.cancel != nil
	c.mu.Unlock()
	if over {
		return wire.Inbound{Token: e.token, Ref: o}, true
	}
	t := readMessageType(&r.Fault, r.readMeta(), pathMeta)
	t.act = performatives.ActStatusUpdate
	var payload any
	if t.name != "" {
		payload = c.decodeTyped(r, t, results)
	} else {
		update := performatives.StatusUpdate{Progress: percentage(done, total), Description: jsonscan.Text(message)}
		if results != nil {
			update.Results = performatives.RawContent(objectOf(bytes.Clone(results), "result"))
		}
		payload = update
	}
	m, err := c.reply(e, r, q.message, t, payload)
	return received(e, r, o, m, err), true
}

// percentage returns the progress in percent; nil means unknown.
func percentage(done, total []byte) *float64 {
	d, none := strconv.ParseFloat(string(done), 64)
	t, unknown := strconv.ParseFloat(string(total), 64)
	if none != nil || unknown != nil || t <= 0 {
		return nil
	}
	p := min(max(d/t*100, 0), 100)
	return &p
}

// reply makes the peer's message about a request of this node, with an act and a message type,
// which may be empty. Its sender is the receiver of the request, also when the envelope has another
// source: that source answers on the receiver's behalf.
func (c *codec) reply(e *envelope, r *rpc, to *performatives.Message, t messageType, payload any) (*performatives.Message, error) {
	if r.Refusal != nil {
		return nil, r.Refusal
	}
	env := to.ReplyEnvelope(cmp.Or(to.Receiver(), e.source), performatives.Stamp{ID: c.stamp().ID, Time: e.timestamp}, t.act, payload)
	env.MessageType, env.Metadata = t.name, metadataFor(e, r)
	return performatives.New(env)
}

// notices has the acts that may travel as a notification.
var notices = exchange.SetOf(performatives.ActInform, performatives.ActConfirm, performatives.ActDisconfirm)

// own writes a message that answers no request of the peer. An answer is to a request that is no
// longer pending.
func (c *codec) own(dst []byte, m *performatives.Message) ([]byte, error) {
	typed := m.MessageType() != ""
	switch act := m.Performative(); {
	case act == performatives.ActTaskRequest, act == performatives.ActQueryCapabilities,
		act == performatives.ActQueryRef && !typed, act == performatives.ActRequest && typed:
		return c.ask(dst, m)
	case act == performatives.ActCancel:
		return c.cancel(dst, m)
	case notices.Has(act) && m.InReplyTo() == "":
		switch listChanged := m.Payload() == nil && m.Ontology() == performatives.OntologyCapabilityInformation; {
		case !listChanged:
			return c.notify(dst, m)
		case c.mcp.Load(): // no other client was promised that
			return c.announce(dst, m, methodListChanged, nil)
		}
		return dst, nil
	case notices.Has(act), act == performatives.ActStatusUpdate, act.IsReply() && !act.ExpectsReply():
		return dst, nil
	}
	return dst, errWordless
}

// cancel withdraws a request from the peer. JSON-RPC has no receipt: [codec.answerTo]
// makes one of an answer to the request.
func (c *codec) cancel(dst []byte, m *performatives.Message) ([]byte, error) {
	c.mu.Lock()
	q := c.parties.Latest(exchange.PartyOf(m))
	if q == nil {
		_ = c.ahead.Check(m, false, func() time.Time { return c.stamp().Time }) // notes it
	}
	if q == nil || q.cancel != nil {
		c.mu.Unlock()
		return dst, nil // it is not pending, or is withdrawn already
	}
	q.cancel = exchange.Outline(m)
	c.requests.Expire(q) // MCP asks the peer not to answer it
	c.mu.Unlock()
	return c.announce(dst, m, methodCancelled, func(b *jsonscan.Builder) {
		b.Raw("requestId", q.number())
		b.OptionalText("reason", exchange.Content[performatives.Cancel](b, m).Reason)
		putMessageType(b, m, performatives.ActCancel)
	})
}

// notify writes an act without an answer as a notification. The method is that of the
// decoded notification, or else has the name of the act.
func (c *codec) notify(dst []byte, m *performatives.Message) ([]byte, error) {
	method := notifications + strings.ToLower(m.Performative().String())
	if v, ok := m.Metadata(metadataMethod); ok && jsonscan.Valid(v) && jsonscan.Text(v) != "" {
		method = jsonscan.Text(v)
	}
	if m.Payload() == nil && m.MessageType() == "" {
		return c.announce(dst, m, method, nil)
	}
	params, err := exchange.Object(Name, m.Payload())
	if err != nil {
		return dst, err
	}
	params = bytes.TrimSpace(withMessageType(params, m, m.Performative()))
	return c.announce(dst, m, method, func(b *jsonscan.Builder) { b.JSON = append(b.JSON, params[1:len(params)-1]...) })
}

// announce writes a notification: see [codec.appendCall].
func (c *codec) announce(dst []byte, m *performatives.Message, method string, params func(*jsonscan.Builder)) ([]byte, error) {
	return c.appendCall(dst, c.headerTo(m), method, nil, params)
}

// errWordless is the refusal of an act that this protocol cannot express.
var errWordless = &performatives.Refusal{Code: performatives.CodeUnknownPerformative, Text: "the peer's protocol has no words for this act"}
