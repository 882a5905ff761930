package bridge

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// writer writes one message.
type writer struct {
	codec       *Codec
	m           *performatives.Message
	shape       *shape
	extras      extras
	kind        kind
	act         performatives.Performative // the usual act of the message
	correlation string
	out         jsonscan.Builder
}

// extras has the session's data about a message that it writes.
type extras struct {
	session    bool       // there is a session
	extensions extensions // of a handshake
	compress   bool       // the receiver reads compressed payloads
	answers    bool       // it answers a request of the peer, which expects one answer
	handshake  bool       // it answers a handshake of the peer
	tool       string
	tools      func(asker, of performatives.AgentID) []string
	toAll      bool // it is a broadcast
	measured   bool // elapsed is known
	elapsed    time.Duration
}

func (c *Codec) append(dst []byte, m *performatives.Message, x extras) ([]byte, error) {
	w := writer{codec: c, m: m, shape: shapeOf(m), extras: x}
	if err := w.choose(); err != nil {
		return dst, err
	}
	w.out = jsonscan.OpenObject(dst)
	w.message()
	out, err := w.out.Close()
	if err == nil && !utf8.Valid(out[len(dst):]) {
		err = errNoUTF8
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// exact reports whether the message is written in the form in which it was read.
func (w *writer) exact() bool {
	if w.extras.session && (w.kind == kindHandshakeRequest || w.kind == kindHandshakeResponse) {
		return false // the extensions are those of another connection
	}
	return w.shape.of == w.m && w.kind == w.shape.kind
}

// now returns the time of writing.
func (w *writer) now() time.Time { return w.codec.opts.Stamper.Stamp().Time }

// message writes the members, in the order in which the specification lists them.
func (w *writer) message() {
	m := w.m
	w.out.Text(memberNames[memID], string(m.ID()))
	w.out.Text(memberNames[memType], w.kind.String())
	w.out.Text(memberNames[memSender], string(m.Sender()))
	receiver := string(m.Receiver())
	if w.extras.toAll {
		receiver = ""
	}
	w.optional(memReceiver, receiver)
	w.timestamp()
	w.optional(memCorrelation, w.correlation)
	w.priority()
	w.payload()
	if w.kind == kindHandshakeResponse && (w.shape.kind != w.kind || w.shape.accepted[0]) {
		w.out.Value(memberNames[memAccepted], m.Performative() != performatives.ActRefuse)
	}
	w.metadata()
	w.unknown()
}

// optional writes a member that may be null.
func (w *writer) optional(m int, s string) {
	switch {
	case s != "":
		w.out.Text(memberNames[m], s)
	case !w.shape.had.Has(m):
	case w.shape != unread && !w.shape.blanks.Has(m) && w.shape.of == w.m:
		w.out.Text(memberNames[m], "")
	default:
		w.out.Raw(memberNames[m], []byte("null"))
	}
}

func (w *writer) timestamp() {
	switch {
	case w.exact() && !w.shape.had.Has(memTimestamp):
	case w.exact() && w.shape.blanks.Has(memTimestamp):
		w.out.Raw(memberNames[memTimestamp], []byte("null"))
	default:
		w.out.Text(memberNames[memTimestamp], exchange.FormatTime(w.m.Timestamp()))
	}
}

func (w *writer) priority() {
	p := w.m.Priority()
	if came := w.shape.priority; came != "" {
		if read, ok := exchange.Priority([]byte(came)); ok && read == p {
			w.out.Raw(memberNames[memPriority], []byte(came))
			return
		}
	}
	if w.shape.had.Has(memPriority) || p != performatives.Normal {
		w.out.Text(memberNames[memPriority], p.String())
	}
}

// payload writes the payload. A long one is compressed for a receiver that reads that.
func (w *writer) payload() {
	v, err := w.content()
	w.out.Fail(err)
	if w.extras.compress && len(v) >= compressFrom {
		if short, ok := compressed(v); ok {
			w.out.Raw(memberNames[memPayload], short)
			w.out.Text(memberEncoding, methodGzip)
			return
		}
	}
	w.out.Raw(memberNames[memPayload], v)
}

// content returns the payload: unchanged, for a decoded message.
func (w *writer) content() ([]byte, error) {
	if w.exact() {
		return w.shape.payload, nil
	}
	switch w.kind {
	case kindHandshakeRequest:
		return w.handshakeRequest()
	case kindHandshakeResponse:
		return w.handshakeResponse()
	case kindRequest:
		return w.request()
	case kindResponse:
		return w.response()
	case kindNotification:
		return w.notification()
	case kindError:
		return w.error()
	case endOfKinds:
	}
	return nil, errNoObject
}

// unknown writes the members without a field, sorted by name. It leaves out a member with a name
// of this dialect's envelope: another dialect stored it, with another meaning.
func (w *writer) unknown() {
	var names []string
	for name := range w.m.AllMetadata() {
		m := memberNames.Find([]byte(name))
		switch {
		case name == memberEncoding && w.extras.compress: // of a peer that means something else by it
		case m == len(memberNames), m == memAccepted && w.kind != kindHandshakeResponse:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if v, _ := w.m.Metadata(name); len(v) > 0 {
			w.out.Checked(name, v)
		}
	}
}

// restOf returns the members of the payload that came beside the content of a message type.
func (w *writer) restOf() (rest performatives.Members) {
	v, ok := w.m.Metadata(payloadRest)
	if ok && jsonscan.Is(v, '{') && jsonscan.Valid(v) {
		jsonscan.Read(v, exchange.Rest(&rest, nil))
	}
	return rest
}

// rest writes them.
func (w *writer) rest(b *jsonscan.Builder, without ...string) { b.Sorted(w.restOf(), without...) }

// member writes the payload as a member of the payload of bridge. It leaves a missing one out.
func (w *writer) member(b *jsonscan.Builder, name string) error {
	if w.m.Payload() == nil {
		return nil
	}
	v, err := exchange.Object("bridge", w.m.Payload())
	if err == nil {
		b.Raw(name, v)
	}
	return err
}
