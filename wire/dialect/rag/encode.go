package rag

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// writer writes one message.
type writer struct {
	exchange.Writer
	codec    *codec
	call     *call                 // the request of the peer that the message answers
	asked    *call                 // the request to the peer that the message belongs to, such as its CANCEL
	ofCancel bool                  // the message answers the CANCEL of call
	blank    json.RawMessage       // the metadata {} or null
	further  performatives.Members // of the envelope
	token    json.RawMessage       // nil = none
	silent   bool                  // there is nothing to write
}

// Encode appends m as one frame. It writes nothing for progress that the peer has not said to
// understand, and for the answer to a status. The error is a [*performatives.Refusal] where the
// dialect has no form for m.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if m.Receiver() == "" {
		return dst, exchange.Broadcast(Name, m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := writer{Writer: exchange.NewWriter(Name, m, dst), codec: c}
	w.call, w.asked = c.calls.Find("", m.InReplyTo()), c.asked.Find(m.Sender(), m.InReplyTo())
	w.ofCancel = w.call != nil && w.call.IsOfCancel(m.InReplyTo())
	if r := c.ahead.Check(m, w.asked != nil, c.now); r != nil {
		return dst, r
	}
	w.compose()
	if w.silent {
		return dst, nil
	}
	trace := w.trace()
	w.envelopeOf(trace)
	out, err := w.Finish()
	if err != nil {
		return dst, err
	}
	w.note(trace)
	return out, nil
}

// compose finds what an application's code says: the metadata, the type, the payload and the token.
// Meanwhile the codec is not locked.
func (w *writer) compose() {
	w.codec.mu.Unlock()
	defer w.codec.mu.Lock()
	w.collectMetadata()
	w.body()
	if token := w.codec.opts.Token; token != nil {
		w.token = jsonscan.AppendQuoted(nil, token())
	}
}

// body finds the type and the payload.
func (w *writer) body() {
	switch act := w.Message.Performative(); {
	case strings.HasPrefix(w.Message.InReplyTo(), statusID):
		w.silent = true
	case w.Message.MessageType() != "":
		w.typed()
	case exchange.Interim.Has(act) && !w.codec.understands(w.Message.Receiver(), act.String()):
		w.silent = true
	case act == performatives.ActTaskRequest:
		w.task()
	case act == performatives.ActInformResult:
		w.result()
	case act == performatives.ActQueryCapabilities:
		w.query()
	case act == performatives.ActInformCapabilities:
		w.capabilities()
	case exchange.Refusals.Has(act):
		w.failure()
	default:
		w.Plain()
	}
}

// typed writes an application's message type.
func (w *writer) typed() {
	w.Kind = w.Message.MessageType()
	act := w.Message.Performative()
	own, known := natural[w.Kind]
	registered, ok := w.codec.opts.Registry.MessageTypeAct(w.Kind)
	if known && (own == act || w.Kind == typeError && exchange.Refusals.Has(act)) || !known && !ok && (jsonscan.Is(w.Meta[metaTask], '{') || jsonscan.Is(w.Meta[metaResult], '{')) {
		w.Tell(exchange.MetaMessageType, w.Kind) // without it, the type would be read as the dialect's own
	}
	if known || registered != act {
		w.Tell(exchange.MetaAct, act.String())
	}
	if sh, ok := w.Message.Shape().(*shape); ok && reflect.DeepEqual(sh.value, w.Message.Payload()) {
		w.Payload = sh.text
		return
	}
	w.Marshal(w.Message.Payload())
}

// kept returns the text of a member of the message's metadata.
func (w *writer) kept(name string) string {
	v, _ := w.Message.Metadata(name)
	return jsonscan.Text(v)
}

// trace returns the trace id: that of the request for its answer, that with which the message came,
// or a new one.
func (w *writer) trace() string {
	c, m := w.codec, w.Message
	came := w.kept(keptTrace)
	taken := c.asked.find(exchange.KeyOf(m.Receiver(), came), m.Sender())
	if belongs(came, m.ConversationID()) && (taken == nil || taken.ID == m.ID() && taken.Asker.Is(m.Sender()) || !startsWork(m.Performative())) {
		return came
	}
	if x := cmp.Or(w.call, w.asked); x != nil && w.Kind != typeError { // of ours: a CANCEL or such
		return x.Trace
	}
	if x := c.asked.Find(m.Sender(), string(m.ID())); x != nil { // the same message again
		return x.Trace
	}
	for {
		trace := c.sequences.next(prefixOf(w.Kind, m.Receiver()), m.ConversationID())
		if c.asked.traces.Latest(exchange.KeyOf(m.Receiver(), trace)) == nil {
			return trace
		}
	}
}

// note stores a request to the peer, and the end of one of the peer.
func (w *writer) note(trace string) {
	c, m := w.codec, w.Message
	act := m.Performative()
	switch {
	case act == performatives.ActCancel && w.asked != nil && !w.asked.Over():
		c.asked.AddCancel(w.asked, m.ID(), exchange.ReferenceTo(m))
	case w.call != nil:
		c.calls.End(w.call, exchange.Final.Has(act), w.ofCancel)
	case startsWork(act):
		c.asked.add(&call{Trace: trace, Request: exchange.RequestTo(m, w.Kind)})
	}
}

// envelopeOf writes the members in the order of the specification.
func (w *writer) envelopeOf(trace string) {
	w.text(memType, w.Kind)
	w.text(memSender, string(nameFor(w.Message.Sender())))
	w.text(memReceiver, string(w.Message.Receiver()))
	w.text(memTrace, trace)
	w.text(memTimestamp, exchange.FormatTime(w.Message.Timestamp()))
	w.Checked(memberNames[memPayload], w.Payload)
	switch {
	case len(w.Meta) > 0:
		w.Open(memberNames[memMetadata])
		w.Sorted(w.Meta)
		w.End()
	case w.blank != nil:
		w.Checked(memberNames[memMetadata], w.blank)
	}
	w.Sorted(w.further)
	if w.token != nil {
		w.Raw(memberNames[memToken], w.token)
	}
}

func (w *writer) text(i int, s string) { w.Text(memberNames[i], s) }
