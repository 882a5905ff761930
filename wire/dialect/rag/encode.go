package rag

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// writer writes one message.
type writer struct {
	jsonscan.Builder
	codec    *codec
	m        *performatives.Message
	call     *call  // the request of the peer that the message answers
	callKind string // its type, CANCEL where the message answers that
	kind     string
	payload  []byte
	meta     performatives.Members
	blank    json.RawMessage       // the metadata {} or null
	further  performatives.Members // of the envelope
	silent   bool                  // there is nothing to write
}

// Encode appends m as one frame. It writes nothing for progress that the peer has not said to
// understand, and for the answer to a status. The error is a [*performatives.Refusal] where the dialect has no form for m.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if m.Receiver() == "" {
		return dst, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "receiver", Text: "receiver: want an agent: rag has no broadcast",
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := writer{Builder: exchange.Begin(dst, c.depth), codec: c, m: m}
	w.find()
	known := w.call != nil || c.asked.Find(m.Sender(), m.InReplyTo()) != nil
	if r := c.ahead.Check(m, known, c.now); r != nil {
		return dst, r
	}
	w.collectMetadata()
	w.body()
	if w.silent {
		return dst, nil
	}
	trace := w.trace()
	w.envelopeOf(trace)
	out, err := exchange.Finish(Name, &w.Builder, len(dst))
	if err != nil {
		return dst, err
	}
	w.note(trace)
	return out, nil
}

// find finds the request of the peer that m belongs to.
func (w *writer) find() {
	if w.call = w.codec.calls.Find("", w.m.InReplyTo()); w.call == nil {
		return
	}
	w.callKind = w.call.Kind
	if w.ofCancel() {
		w.callKind = performatives.ActCancel.String()
	}
}

// ofCancel reports whether m answers the CANCEL of a request of the peer.
func (w *writer) ofCancel() bool {
	return w.call.IsOfCancel(w.m.InReplyTo())
}

// body finds the type and the payload.
func (w *writer) body() {
	switch act := w.m.Performative(); {
	case strings.HasPrefix(w.m.InReplyTo(), statusID):
		w.silent = true
	case w.m.MessageType() != "":
		w.typed()
	case isProgress(act) && !w.codec.understands(w.m.Receiver(), act.String()):
		w.silent = true
	case act == performatives.ActTaskRequest:
		w.task()
	case act == performatives.ActInformResult:
		w.result()
	case act == performatives.ActQueryCapabilities:
		w.query()
	case act == performatives.ActInformCapabilities:
		w.capabilities()
	case exchange.IsRefusal(act):
		w.failure()
	default:
		w.plain()
	}
}

// typed writes an application's message type.
func (w *writer) typed() {
	w.kind = w.m.MessageType()
	act := w.m.Performative()
	own, known := natural[w.kind]
	registered, ok := w.codec.opts.Registry.MessageTypeAct(w.kind)
	if known && (own == act || w.kind == typeError && exchange.IsRefusal(act)) || !known && !ok && (jsonscan.Is(w.meta[metaTask], '{') || jsonscan.Is(w.meta[metaResult], '{')) {
		w.tell(exchange.MetaMessageType, w.kind) // without it, the type would be read as the dialect's own
	}
	if known || !ok || registered != act {
		w.tell(exchange.MetaAct, act.String())
	}
	if sh, ok := w.m.Shape().(*shape); ok && reflect.DeepEqual(sh.value, w.m.Payload()) {
		w.payload = sh.text
		return
	}
	w.marshal(w.m.Payload())
}

// plain writes an act under its own name.
func (w *writer) plain() {
	w.kind = w.m.Performative().String()
	w.marshal(w.m.Payload())
}

// tell sets a member of the metadata that the type does not tell.
func (w *writer) tell(name, value string) {
	if jsonscan.Text(w.meta[name]) != value {
		w.setMeta(name, value)
	}
}

// kept returns the text of a member of the message's metadata.
func (w *writer) kept(name string) string {
	v, _ := w.m.Metadata(name)
	return jsonscan.Text(v)
}

func (w *writer) marshalContent(c performatives.Content) {
	if c.IsZero() {
		w.payload = []byte("{}")
		return
	}
	w.marshal(c)
}

// marshal sets the payload, which must be an object.
func (w *writer) marshal(v any) {
	text, err := exchange.Object(Name, v)
	w.Fail(err)
	w.payload = text
}

// trace returns the trace id: that of the request for its answer, that with which the message came,
// or a new one.
func (w *writer) trace() string {
	c, m := w.codec, w.m
	came := w.kept(keptTrace)
	taken := c.asked.find(traceKey{m.Receiver().Fold(), came}, m.Sender())
	if belongs(came, m.ConversationID()) && (taken == nil || taken.ID == m.ID() && taken.Asker.Is(m.Sender()) || !startsWork(m.Performative())) {
		return came
	}
	if w.kind != typeError && w.call != nil {
		return w.call.Trace
	}
	if x := c.asked.Find(m.Sender(), m.InReplyTo()); x != nil && w.kind != typeError { // of ours, such as a CANCEL
		return x.Trace
	}
	if x := c.asked.Find(m.Sender(), string(m.ID())); x != nil { // the same message again
		return x.Trace
	}
	return c.newTrace(prefixOf(w.kind, m.Receiver()), m.ConversationID(), m.Receiver())
}

// note stores a request to the peer, and the end of one of the peer.
func (w *writer) note(trace string) {
	c, m := w.codec, w.m
	act := m.Performative()
	switch x := c.asked.Find(m.Sender(), m.InReplyTo()); {
	case act == performatives.ActCancel && x != nil:
		c.asked.AddCancel(x, m.ID(), exchange.ReferenceTo(m))
	case w.call != nil:
		c.calls.End(w.call, isFinal(act), w.ofCancel())
	case startsWork(act):
		c.asked.add(&call{Trace: trace, Asked: m.Receiver(), Request: exchange.RequestTo(m, w.kind)})
	}
}

// envelopeOf writes the members in the order of the specification.
func (w *writer) envelopeOf(trace string) {
	w.text(memType, w.kind)
	w.text(memSender, string(nameFor(w.m.Sender())))
	w.text(memReceiver, string(w.m.Receiver()))
	w.text(memTrace, trace)
	w.text(memTimestamp, formatTime(w.m.Timestamp()))
	w.Checked(memberNames[memPayload], w.payload)
	w.metadata()
	w.Sorted(w.further)
	if token := w.codec.opts.Token; token != nil {
		w.text(memToken, token())
	}
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (w *writer) text(m member, s string) { w.Text(memberNames[m], s) }
