package bridge

import (
	"cmp"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Dialect is bridge as the language of a [wire.Session]. A frame is one message, or a batch of
// them where an agent has agreed to those. The zero value works.
//
// bridge leaves authentication to the transport. Over a transport without a place for a
// token, such as TCP, a message may have it in the member auth_token, with or without the
// word Bearer. The session removes it from the message.
type Dialect struct {
	// Node is the name of this node in the paths of messages that pass several nodes. It must be
	// unique among them. Empty means that the extension routing is not offered.
	Node string
}

// Name returns "bridge".
func (Dialect) Name() string { return "bridge" }

// Recognizes reports whether a frame is an object with a message_type and another member that only
// the envelope of bridge has. acl may have a message_type beside its performative.
func (Dialect) Recognizes(frame []byte) bool {
	return wire.HasMember(frame, "message_type") && wire.HasMember(frame, "sender_id", "receiver_id") &&
		!wire.HasMember(frame, "performative", "mcp_payload", "mcp_header")
}

// Open returns the codec of one session.
func (d Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	o.Local = cmp.Or(o.Local, "system")
	s := &session{
		codec: New(o), opts: o, node: d.Node, hellos: make(map[performatives.AgentID]*hello), greetings: make(map[string]*hello),
	}
	s.calls.Init(o.MaxPending, true, nil)
	s.asks.Init(o.MaxPending, true, nil)
	s.askIDs, s.parties = exchange.IndexOf(&s.asks, (*ask).id), exchange.IndexOf(&s.asks, (*ask).party)
	s.Handover = exchange.Handover[*call]{Lock: &s.mu, Calls: &s.calls}
	return s, nil
}

// session is the codec of one session: it knows which agents have shaken hands, and the requests
// without an answer, of both ends.
type session struct {
	exchange.Handover[*call]
	codec  *Codec
	opts   wire.CodecOptions
	node   string
	nacked bool // the message that is being read was refused; only the reader uses it

	mu        sync.Mutex                       // guards the rest
	hellos    map[performatives.AgentID]*hello // of the end that opened the connection, by folded id
	greetings map[string]*hello                // those of this end without an answer, by the id of the handshake_request
	held      int                              // bytes of all frames that wait for them
	calls     exchange.Pending[*call]
	asks      exchange.Pending[*ask]
	askIDs    *exchange.Index[performatives.MessageID, *ask]
	parties   *exchange.Index[exchange.Party, *ask]

	// The CANCELs that have overtaken their requests: of the peer, and of this node.
	early exchange.Withdrawn
	ahead exchange.Cancels

	broadcasts exchange.Recent[exchange.Key, struct{}] // to the peer
}

func (s *session) now() time.Time { return s.opts.Stamper.Stamp().Time }

// Decode reads one message, or those of a batch, in order. One that is invalid does not affect the
// others.
func (s *session) Decode(frame []byte, take func(wire.Inbound)) {
	if !s.batches(frame) {
		s.decodeOne(frame, take)
		return
	}
	if bad := s.checkBatch(frame); bad != nil {
		s.broken(&DecodeError{Refusal: bad}, take)
		return
	}
	for message := range jsonscan.Elements(frame) {
		s.decodeOne(message, take)
	}
}

func (s *session) decodeOne(frame []byte, take func(wire.Inbound)) {
	d := decoder{codec: s.codec, session: s}
	m, failed := s.codec.decode(&d, frame)
	if failed != nil {
		s.broken(failed, take)
		return
	}
	in := exchange.TakeToken(m)
	if in.Err != nil {
		in.Answer = s.Refuse(nil, wire.Inbound{Message: m}, in.Err)
		take(in)
		return
	}
	in.Content = d.Values[memPayload]
	if d.greets && s.greetingAnswered(&d, m, take) {
		take(wire.Inbound{Token: in.Token})
		return
	}
	in = s.received(&d, in)
	s.nacked = false
	take(in)
	if in.Message != nil && d.acknowledged && !s.nacked {
		take(wire.Inbound{Token: in.Token, Answer: s.notice(m, eventAck, nil)})
	}
}

// received applies a message to the state of the session.
func (s *session) received(d *decoder, in wire.Inbound) wire.Inbound {
	s.mu.Lock()
	defer s.mu.Unlock()
	shakes := d.kind == kindHandshakeRequest || d.kind == kindHandshakeResponse
	agreed := s.agreedBetween(in.Message.Receiver(), d.out.Sender)
	if d.acknowledged = !shakes && agreed.Has(extensionAcknowledgement); d.acknowledged {
		if out, ok := s.acknowledgement(d, in); ok {
			d.acknowledged = false
			return out
		}
	}
	switch {
	case d.kind != kindHandshakeRequest && !s.shookHands(d.out.Sender):
		return s.refused(d, in, performatives.Refused(performatives.CodeHandshakeRequired, "send a handshake_request first"))
	case d.kind == kindHandshakeRequest, d.kind == kindRequest:
		return s.called(d, in)
	case d.withdraws():
		return s.withdrawn(d, in)
	case d.ask != nil:
		return s.answered(d, in)
	case d.kind == kindError: // it gets no answer itself
		why := in.Message.AsRefusal()
		return wire.Inbound{Token: in.Token, Err: &performatives.Refusal{Code: why.Code, From: why.From, Text: "the peer reports an error: " + why.Text}}
	case d.kind != kindNotification:
		bad := exchange.Wrong("correlation_id", "the message_id of a request that waits for an answer")
		bad.Code = performatives.CodeUnexpectedAct
		return wire.Inbound{Token: in.Token, Err: bad}
	}
	return in
}

// shookHands reports whether an agent of the peer may send anything. The end that opened the
// connection does not ask for handshakes. The session's lock is held.
func (s *session) shookHands(agent performatives.AgentID) bool {
	return s.opts.Initiator || s.hellos[agent.Fold()] != nil
}

// refused is a message that the codec refuses, with the answer to the peer. An error gets none.
func (s *session) refused(d *decoder, in wire.Inbound, r *performatives.Refusal) wire.Inbound {
	r.About = d.out.ID
	out := wire.Inbound{Token: in.Token, Err: r}
	if d.kind != kindError {
		out.Answer = errorFrame(cmp.Or(d.out.Receiver, s.opts.Local), d.out.Sender, string(d.out.ID), s.opts.Stamper.Stamp(), fault{Refusal: *r})
	}
	return out
}

// broken passes on the error of a frame that is no message, with the answer to the peer. If it was
// to be the answer to a request of this node, the request fails, because no other answer comes.
func (s *session) broken(e *DecodeError, take func(wire.Inbound)) {
	var q *ask // that e was to answer
	if e.Type == kindResponse || e.Type == kindHandshakeResponse || e.Type == kindError {
		s.mu.Lock()
		q = s.askFor(e.Correlation, e.Receiver)
		s.asks.Remove(q)
		s.mu.Unlock()
	}
	in := wire.Inbound{Err: e.Refusal}
	if q != nil || e.Type != kindError {
		in.Answer = errorFrame(cmp.Or(e.Receiver, s.opts.Local), e.Sender, string(e.ID), s.opts.Stamper.Stamp(), fault{Refusal: *e.Refusal})
	}
	take(in)
	if e.Correlation != "" && s.greetingAnswered(&decoder{correlation: e.Correlation}, nil, take) || q == nil {
		return
	}
	text := cmp.Or(e.text, "the peer's answer cannot be read")
	if m := q.message.Refuse(cmp.Or(q.message.Receiver(), e.Sender), s.opts.Stamper.Stamp(), performatives.CodeFailed, text); m != nil {
		take(wire.Inbound{Message: m})
	}
}

// Refuse appends the error for a message that the session or its handler does not serve. It appends
// nothing for a message that expects no reply.
func (s *session) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	c, called := in.Ref.(*call)
	s.mu.Lock()
	switch {
	case !called:
	case in.Message != nil && in.Message.Performative() == performatives.ActCancel:
		s.calls.AddCancel(c, "", "") // the request continues
	default:
		if s.calls.Remove(c); c.first {
			delete(s.hellos, c.Asker.Fold())
		}
	}
	if in.Message == nil {
		s.mu.Unlock()
		return dst
	}
	agreed := s.agreedBetween(in.Message.Receiver(), in.Message.Sender())
	s.mu.Unlock()
	if r := performatives.RefusalOf(err); r != nil && r.Field != "" {
		err = renamed(err)
	}
	s.nacked = true
	if agreed.Has(extensionAcknowledgement) && !in.Message.Performative().ExpectsReply() {
		return append(dst, s.notice(in.Message, eventNack, err)...)
	}
	answer := wire.RefusalOf(in.Message, s.opts.Local, s.opts.Stamper.Stamp(), err)
	if answer == nil {
		return dst
	}
	x := extras{tools: s.tools(answer)}
	if called {
		x.tool = c.Tool
	}
	frame, _ := s.codec.append(dst, answer, x) // the refusal was made here
	return frame
}
