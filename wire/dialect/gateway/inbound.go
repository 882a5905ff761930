package gateway

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// inbound returns the meaning of one JSON-RPC message of the peer.
func (c *codec) inbound(e *envelope, r *rpc, o *origin) wire.Inbound {
	switch {
	case r.kind == kindResponse:
		return c.response(e, r)
	case r.Refusal != nil: // as of each broken message
		return c.refused(e, o, r.Refusal)
	case r.kind == kindNotification:
		return c.notification(e, r, o)
	case c.session.Workers == nil:
		return c.request(e, r, o)
	}
	in, request := *e, *r // copies, so that only these are on the heap
	return wire.Inbound{Token: e.token, Ref: o, Rest: func() wire.Inbound { return c.request(&in, &request, o) }}
}

// request returns the meaning of a request of the peer.
func (c *codec) request(e *envelope, r *rpc, o *origin) wire.Inbound {
	switch r.method {
	case methodPing:
		pong := c.answer(nil, &o.address, nil, rpcAnswer(o.RPC, "result", []byte("{}")), nil)
		return wire.Inbound{Token: e.token, Ref: o, Answer: pong}
	case methodInitialize:
		return c.initialize(e, r, o)
	case methodList, methodResources:
		return c.list(e, r, o)
	case methodRead:
		return c.read(e, r, o)
	case methodCall:
		return c.toolCall(e, r, o)
	}
	if _, _, ok := splitMethod(r.method); ok {
		return c.methodCall(e, r, o)
	}
	unknown := performatives.Refused(performatives.CodeUnknownAction, "Method not found") // wire's Error Response Example
	return c.refusedWith(e, o, unknown, faultData{Method: r.method})
}

// methodCall serves ns.method of the peer: a task of the type method, or a message of the
// message type method.
func (c *codec) methodCall(e *envelope, r *rpc, o *origin) wire.Inbound {
	to, method := c.route(e, r, performatives.AgentID(Namespace(e.target, "")), r.method, "method")
	if to == "" {
		_, method, _ = splitMethod(r.method)
		to = performatives.AgentID(Namespace(e.target, r.method))
		c.route(e, r, to, method, "method")
	}
	if t := c.openingType(r, method); t.name != "" {
		return c.typedCall(e, r, o, to, t, objectOf(withoutMessageType(r.params), "params"), pathParams)
	}
	task := performatives.TaskRequest{TaskType: method}
	if r.params != nil {
		task.Parameters = performatives.RawContent(objectOf(bytes.Clone(r.params), "params"))
	}
	return c.serve(e, r, o, performatives.Envelope{Receiver: to, Payload: task}, &call{Token: progressToken(r.readMeta())})
}

// list serves tools/list and resources/list of the peer. The answer has all on one page, so that a
// cursor is refused. The directory has the resources of all agents.
func (c *codec) list(e *envelope, r *rpc, o *origin) wire.Inbound {
	switch cursor := jsonscan.Member(r.params, paramCursor); {
	case jsonscan.IsNone(cursor), string(cursor) == `""`: // the first page
	case !jsonscan.Is(cursor, '"'):
		r.Refuse(exchange.Invalid(pathParams+"."+paramCursor, "a string", cursor))
	default:
		r.Refuse(exchange.Wrong(pathParams+"."+paramCursor, "none: the first page has all"))
	}
	if meta := r.readMeta(); !jsonscan.IsNone(meta) && !jsonscan.Is(meta, '{') {
		r.Refuse(exchange.Invalid(pathMeta, "an object", meta))
	}
	t := readMessageType(&r.Fault, r.readMeta(), pathMeta)
	to, x := c.queried(e, r.method), &call{}
	if r.method == methodResources {
		to, x.Namespace = NamespaceSystem, to
	}
	return c.serve(e, r, o, performatives.Envelope{
		Receiver: to, MessageType: t.name,
		Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Schemas: true, Each: true},
	}, x)
}

// serve makes the message of a request, and stores the address of its answer in call. env
// has the payload, and the message type and act of a typed request. The id of a message that starts
// work is the same for a call that comes again: from the same source of this connection, with the
// same JSON-RPC id and content. A client of JSON-RPC may use an id again for another call. A call
// that repeats a pending one gets the answer of that one. In a batch, which has an answer for each
// call, it is refused.
func (c *codec) serve(e *envelope, r *rpc, o *origin, env performatives.Envelope, call *call) wire.Inbound {
	if r.Refusal != nil {
		return c.refused(e, o, r.Refusal)
	}
	s := c.stamp()
	env.ID, env.ReplyBy = s.ID, s.Time.Add(cmp.Or(e.timeout, defaultTimeout))
	var of exchange.Key
	if call.hello == nil && r.method != methodList && r.method != methodResources { // the others only read
		env.Trace = exchange.Traceparent(jsonscan.Member(r.readMeta(), metaTrace))
		if !jsonscan.IsNull(r.id) {
			c.connection = cmp.Or(c.connection, s.ID)
			of = exchange.KeyOf(e.source, key(r.id))
			sum := exchange.Digest(r.params, string(c.connection), string(of.Agent), of.Name, strings.ToLower(Namespace(e.target, r.method)), r.method)
			env.ID = performatives.MessageID(hex.EncodeToString(sum[:16]))
		}
	}
	m, err := c.message(e, r, env)
	if err != nil {
		return c.refused(e, o, renamed(err))
	}
	call.address, call.Kind = o.address, r.method
	added, refusal := c.addCall(call, m, of, s.Time)
	if refusal != nil {
		return c.refused(e, o, refusal)
	}
	if added {
		o.call = call
	}
	in := received(e, r, o, m, nil)
	if !jsonscan.IsNull(r.id) && !c.bare.Load() { // without envelopes, an id is free after its answer
		in.Content = slices.Concat([]byte(r.method), r.params)
	}
	return in
}

// addCall adds the call that m opens. One that repeats a pending call has that answered, and is not
// added. One whose CANCEL came before it is refused; of is its id, or nothing.
func (c *codec) addCall(x *call, m *performatives.Message, of exchange.Key, now time.Time) (added bool, refusal *performatives.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.withdrawn.Overtook(of, m.ID(), func() time.Time { return now }) {
		return false, exchange.Canceled(m.ID())
	}
	if first := c.calls.Find("", string(m.ID())); first != nil {
		first.Withdrawn = false
		if x.batch != nil {
			refusal = invalidRequest("mcp_payload.id", "mcp_payload.id: the same request is under way")
		}
		return false, refusal
	}
	if !c.calls.Room(now) {
		return false, performatives.Refused(performatives.CodeBusy, "too many requests are under way on this connection")
	}
	x.Request = exchange.Request{Kind: x.Kind, ID: m.ID(), Act: m.Performative(), Asker: m.Sender(), Receiver: m.Receiver(), Conversation: m.ConversationID()}
	x.ReplyBy, x.Priority, x.MCP = m.ReplyBy(), m.Priority(), c.mcp.Load() || c.bare.Load()
	if x.hello == nil {
		x.Agent = m.Sender().Fold()
	}
	if x.batch == nil { // a batch would otherwise never be complete
		x.Expires = exchange.Expiry(m.ReplyBy(), now, defaultTimeout)
	}
	c.calls.Add(x)
	return true, nil
}

// received returns a message of the peer, or the error for which there is none. The id is that of
// the peer, for the protection against replay.
func received(e *envelope, r *rpc, ref any, m *performatives.Message, err error) wire.Inbound {
	if err != nil {
		return wire.Inbound{Token: e.token, Err: renamed(err), Ref: ref}
	}
	return wire.Inbound{Message: m, Token: e.token, ID: string(e.id) + " " + string(r.id), Ref: ref}
}

// message makes a message of the peer, for its namespace.
func (c *codec) message(e *envelope, r *rpc, env performatives.Envelope) (*performatives.Message, error) {
	if r.Refusal != nil {
		return nil, r.Refusal
	}
	env.Sender = e.source
	if env.Receiver == "" {
		env.Receiver = performatives.AgentID(Namespace(e.target, r.method))
	}
	env.Timestamp = e.timestamp
	if env.Priority == performatives.Normal {
		env.Priority = e.priority
	}
	env.Metadata = metadataFor(e, r)
	return performatives.New(env)
}

// metadataFor returns the metadata of one message of an envelope. A message of a batch
// gets a copy.
func metadataFor(e *envelope, r *rpc) performatives.Members {
	switch {
	case len(e.metadata)+len(r.extra) == 0:
		return nil
	case len(r.extra) == 0 && !jsonscan.Is(e.payload, '['):
		return e.metadata
	}
	out := make(performatives.Members, len(e.metadata)+len(r.extra))
	maps.Copy(out, e.metadata)
	maps.Copy(out, r.extra)
	return out
}

// envelopeNames has the names of wire for fields of a message.
var envelopeNames = map[string]string{"sender": "source", "receiver": "target_namespace"}

// renamed returns the refusal of a message with the field names of wire.
func renamed(err error) *performatives.Refusal {
	r := exchange.Renamed(wire.AsRefusal(err), envelopeNames)
	if r.Field == envelopeNames["sender"] || r.Field == envelopeNames["receiver"] {
		r.Code = performatives.CodeUnexpectedAct
	}
	return r
}
