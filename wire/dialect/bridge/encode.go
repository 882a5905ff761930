package bridge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// writer writes one message.
type writer struct {
	exchange.Writer
	codec       *Codec
	shape       *shape
	extras      extras
	act         performatives.Performative // the usual act of the message
	correlation string
	fault       fault // of an error
}

// extras has the session's data about a message that it writes.
type extras struct {
	session    bool       // there is a session
	extensions extensions // of a handshake
	compress   bool       // the receiver reads compressed payloads
	answers    bool       // it answers a request of the peer, which expects one answer
	handshake  bool       // it answers a handshake of the peer
	tool       string
	tools      []string      // that the receiver may call in place of tool
	toAll      bool          // it is a broadcast
	elapsed    time.Duration // of the work that it answers
}

func (c *Codec) append(dst []byte, m *performatives.Message, x extras) ([]byte, error) {
	came, ok := m.Shape().(*shape)
	if !ok {
		came = unread
	}
	w := writer{Writer: exchange.NewWriter("bridge", m, dst), codec: c, shape: came, extras: x}
	if w.choose(); w.Err == nil {
		w.message()
	}
	return w.Finish()
}

// exact reports whether the message is written in the form in which it was read.
func (w *writer) exact() bool {
	if w.extras.session && (w.Kind == kindHandshakeRequest || w.Kind == kindHandshakeResponse) {
		return false // the extensions are those of another connection
	}
	return w.shape.of == w.Message && w.Kind == w.shape.kind
}

// text writes a member of the envelope that is a string.
func (w *writer) text(m int, s string) { w.Text(memberNames[m], s) }

// message writes the members, in the order in which the specification lists them.
func (w *writer) message() {
	m := w.Message
	w.text(memID, string(m.ID()))
	w.text(memType, w.Kind)
	w.text(memSender, string(m.Sender()))
	receiver := string(m.Receiver())
	if w.extras.toAll {
		receiver = ""
	}
	w.optional(memReceiver, receiver)
	w.timestamp()
	w.optional(memCorrelation, w.correlation)
	w.priority()
	w.payload()
	if w.Kind == kindHandshakeResponse && (w.shape.kind != w.Kind || w.shape.had.Has(memAccepted)) {
		w.Value(memberNames[memAccepted], m.Performative() != performatives.ActRefuse)
	}
	w.metadata()
	w.unknown()
}

// optional writes a member that may be null.
func (w *writer) optional(m int, s string) {
	switch {
	case s != "":
		w.text(m, s)
	case !w.shape.had.Has(m):
	case w.shape != unread && !w.shape.blanks.Has(m) && w.shape.of == w.Message:
		w.text(m, "")
	default:
		w.orNull(memberNames[m], nil)
	}
}

func (w *writer) timestamp() {
	switch {
	case w.exact() && !w.shape.had.Has(memTimestamp):
	case w.exact() && w.shape.blanks.Has(memTimestamp):
		w.orNull(memberNames[memTimestamp], nil)
	default:
		w.text(memTimestamp, exchange.FormatTime(w.Message.Timestamp()))
	}
}

func (w *writer) priority() {
	p := w.Message.Priority()
	if came, ok := exchange.Priority([]byte(w.shape.priority)); ok && came == p {
		w.Raw(memberNames[memPriority], []byte(w.shape.priority))
		return
	}
	if w.shape.had.Has(memPriority) || p != performatives.Normal {
		w.text(memPriority, p.String())
	}
}

// payload writes the payload. A long one is compressed for a receiver that reads that.
func (w *writer) payload() {
	w.Name(memberNames[memPayload])
	start := len(w.JSON)
	w.content()
	if w.extras.compress && len(w.JSON)-start >= compressFrom {
		if short, ok := compressed(w.JSON[start:]); ok {
			w.JSON = append(w.JSON[:start], short...)
			w.Text(memberEncoding, methodGzip)
		}
	}
}

// content writes the value of the payload: unchanged, for a decoded message.
func (w *writer) content() {
	switch {
	case w.exact():
		w.JSON = append(w.JSON, w.shape.payload...)
		return
	case w.Kind == kindNotification && w.isEvent():
		w.JSON = append(w.JSON, w.Payload...)
		return
	}
	w.JSON = append(w.JSON, '{')
	switch w.Kind {
	case kindHandshakeRequest:
		w.capabilities(exchange.Content[performatives.QueryCapabilities](&w.Builder, w.Message).Capabilities, "the")
	case kindHandshakeResponse:
		w.handshakeResponse()
	case kindRequest:
		w.request()
	case kindResponse:
		w.response()
	case kindNotification:
		w.notification()
	case kindError:
		w.fault.write(&w.Builder)
	}
	w.End()
}

// unknown writes the members without a field, sorted by name. It leaves out a member with a name
// of this dialect's envelope: another dialect stored it, with another meaning.
func (w *writer) unknown() {
	rest := make(performatives.Members)
	for name, v := range w.Message.AllMetadata() {
		m := memberNames.Find([]byte(name))
		switch {
		case name == memberEncoding && w.extras.compress: // of a peer that means something else by it
		case m == len(memberNames), m == memAccepted && w.Kind != kindHandshakeResponse:
			rest[name] = v
		}
	}
	w.Sorted(rest)
}

// restOf returns the members of the payload that came beside the content of a message type.
func (w *writer) restOf() (rest performatives.Members) {
	v, _ := w.Message.Metadata(payloadRest)
	jsonscan.Read(v, exchange.Rest(&rest))
	return rest
}

// member writes the payload as a member of the payload of bridge. It leaves a missing one out.
func (w *writer) member(name string) {
	if w.Message.Payload() != nil {
		w.Marshal(w.Message.Payload())
		w.Raw(name, w.Payload)
	}
}

// wordless returns the refusal of an act that this protocol cannot express (addenda §2).
func wordless(m *performatives.Message, why string) error {
	return &performatives.Refusal{
		Code: performatives.CodeUnknownPerformative, About: m.ID(), Field: "performative",
		Text: fmt.Sprintf("the peer's protocol (bridge) has no words for %s%s", m.Performative(), why),
	}
}

// choose sets the kind of the message, its correlation_id and its usual act.
func (w *writer) choose() {
	act := w.Message.Performative()
	if w.Kind = w.shape.kind; w.shape.act != act || w.extras.answers || w.extras.handshake {
		w.Kind = w.kindFor()
	}
	switch m := w.Message; {
	case m.InReplyTo() == noReference && act.IsReply():
	case m.InReplyTo() != "":
		w.correlation = m.InReplyTo()
	case w.Kind == kindRequest || w.Kind == kindHandshakeRequest: // the peer's own; see session.resolveRequest
		v, _ := m.Metadata(memberNames[memCorrelation])
		w.correlation = jsonscan.Text(v)
	}
	switch {
	case w.Kind == kindError:
		w.fault = w.refusal()
		w.act = usualRefusal(cmp.Or(w.fault.word, ErrorCodes.Of(w.fault.Code)))
	case w.Kind == kindHandshakeResponse && act == performatives.ActRefuse,
		w.correlation != "" && w.Message.MessageType() == "" && act == performatives.ActCancel:
		w.act = act
	default:
		w.act = usualActs[w.Kind]
	}
}

// kindFor returns the message type for an act (addenda §2, §8).
func (w *writer) kindFor() string {
	m, typed := w.Message, w.Message.MessageType() != ""
	switch act := m.Performative(); {
	case act == performatives.ActTaskRequest, act == performatives.ActRequest && typed:
		return kindRequest
	case act == performatives.ActRefuse && !typed && (w.extras.handshake || refusesHandshake(m)):
		return kindHandshakeResponse
	case refusals.Has(act):
		return kindError
	case act == performatives.ActInformResult, w.extras.answers && !act.ExpectsReply() && !exchange.Interim.Has(act):
		return kindResponse
	case typed, act == performatives.ActInform, act == performatives.ActCancel, act == performatives.ActStatusUpdate && w.extras.session:
		return kindNotification
	case act == performatives.ActInformCapabilities:
		return kindHandshakeResponse
	case act != performatives.ActQueryCapabilities:
		w.Fail(wordless(m, ""))
		return ""
	}
	if q, err := exchange.PayloadAs[performatives.QueryCapabilities](m); err == nil && q.Type != performatives.QuerySummary {
		w.Fail(wordless(m, " of the type "+string(q.Type)))
	}
	return kindHandshakeRequest
}

// refusesHandshake reports whether a REFUSE has the members of a handshake_response.
func refusesHandshake(m *performatives.Message) bool {
	r, err := exchange.PayloadAs[performatives.Refuse](m)
	return err == nil && r.Extra[capsID] != nil
}
