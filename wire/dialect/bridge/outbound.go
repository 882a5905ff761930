package bridge

import (
	"cmp"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Encode appends m as one frame. A peer gets one answer to each request: acts before the answer,
// and further answers, are not written.
func (s *session) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	toAll, tools := m.ToAll(), s.tools(m)
	m = exchange.Signed(m, s.opts.Token)
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.encode(dst, m, toAll, tools)
	if err != nil || len(out) == len(dst) {
		return dst, err
	}
	first, err := s.greetFirst(m, out[len(dst):])
	if err != nil {
		s.forget(m)
		return dst, err
	}
	return append(dst, first...), nil
}

// tools returns the tools that a peer may call in place of one that the agent of m does not have.
func (s *session) tools(m *performatives.Message) []string {
	if r := m.AsRefusal(); s.opts.Tools != nil && r != nil && ErrorCodes.Of(r.Code) == codeToolNotFound {
		return s.opts.Tools(m.Receiver(), m.Sender())
	}
	return nil
}

// forget drops a request of this node that is not written.
func (s *session) forget(m *performatives.Message) {
	s.asks.Remove(s.asks.Find(m.Sender(), string(m.ID())))
}

// encode is Encode without the handshake of the sender. The session is locked, here and below.
func (s *session) encode(dst []byte, m *performatives.Message, toAll bool, tools []string) ([]byte, error) {
	c := s.calls.Find(m.Receiver(), m.InReplyTo()) // that m answers
	canceled := c != nil && c.IsOfCancel(m.InReplyTo())
	if c != nil && c.Partial && !canceled {
		c = nil
	}
	_, receipt := m.Payload().(performatives.Receipt)
	switch act := m.Performative(); {
	case act == performatives.ActCancel:
		return s.withdraw(dst, m)
	case act.ExpectsReply():
		return s.ask(dst, m)
	case exchange.Interim.Has(act) && m.MessageType() == "" &&
		(act != performatives.ActStatusUpdate || c == nil || !s.agreedBetween(m.Sender(), c.Asker).Has(extensionProgress)):
		return dst, nil
	case canceled:
		return s.endCanceled(dst, m, c)
	case c != nil && c.Answered:
		return dst, nil
	case c != nil && !exchange.Interim.Has(act):
		return s.answer(dst, m, c, tools)
	case receipt: // its request has been answered
		return dst, nil
	case toAll && s.broadcast(m): // another agent of the peer has got it
		return dst, nil
	}
	return s.write(dst, m, extras{toAll: toAll})
}

// broadcast notes a message to all agents, and reports whether it has been written before.
func (s *session) broadcast(m *performatives.Message) (again bool) {
	now, key := s.now(), exchange.KeyOf(m.Sender(), string(m.ID()))
	if _, again = s.broadcasts.Get(key, now); !again {
		s.broadcasts.Put(key, struct{}{}, now)
	}
	return again
}

// write appends a message that fits into a frame. Meanwhile the session is not locked: to check and
// to marshal a payload is an application's code, unless that is sealed.
func (s *session) write(dst []byte, m *performatives.Message, x extras) ([]byte, error) {
	agreed := s.agreedBetween(m.Sender(), m.Receiver())
	if !m.Sealed() {
		s.mu.Unlock()
		defer s.mu.Lock()
	} else if !agreed.Has(extensionEncryption) && !s.greets(m.Sender()) { // else greetFirst holds m
		return dst, refuseSealed(m)
	}
	switch x.session = true; {
	case m.Performative() == performatives.ActQueryCapabilities && m.MessageType() == "":
		x.extensions = s.supported()
	case x.handshake:
		x.extensions = agreed
	default:
		x.compress = agreed.Has(extensionCompression)
		var err error
		if m, err = s.routed(m, agreed.Has(extensionRouting)); err != nil {
			return dst, err
		}
	}
	out, err := s.codec.append(dst, m, x)
	if err == nil && s.opts.MaxBytes > 0 && len(out)-len(dst) > s.opts.MaxBytes {
		return dst, m.Refused(performatives.CodeInvalidPayload, "the message is longer than the connection carries")
	}
	return out, err
}

// ask writes a request of this node. One that is repeated while it is under way is not written: a
// connection loses nothing, so that the peer has the first copy.
func (s *session) ask(dst []byte, m *performatives.Message) ([]byte, error) {
	now := s.now()
	if canceled := s.ahead.Check(m, false, func() time.Time { return now }); canceled != nil {
		return dst, canceled
	}
	if s.asks.Find(m.Sender(), string(m.ID())) != nil {
		return dst, nil
	}
	if !s.asks.Room(now) {
		return dst, m.Refused(performatives.CodeBusy, "too many requests to the agent are under way")
	}
	out, err := s.write(dst, m, extras{})
	if err == nil {
		s.asks.Add(&ask{message: exchange.Outline(m), Request: exchange.Request{ID: m.ID(), Asker: m.Sender(), Expires: exchange.Expiry(m.ReplyBy(), now, unlimited)}})
	}
	return out, err
}

// withdraw writes the CANCEL of a request of this node, once. A request that comes after its CANCEL
// is not written.
func (s *session) withdraw(dst []byte, m *performatives.Message) ([]byte, error) {
	id := m.InReplyTo()
	switch q := s.parties.Latest(exchange.PartyOf(m)); {
	case q == nil:
		_ = s.ahead.Check(m, false, s.now) // which notes it
	case q.cancel != nil:
		return dst, nil
	default:
		q.cancel, id = exchange.Outline(m), string(q.message.ID())
	}
	if m.InReplyTo() != id {
		m, _ = m.With(func(e *performatives.Envelope) { e.InReplyTo = id }) // which is an id
	}
	return s.write(dst, m, extras{})
}

// answer writes the answer to a request of the peer.
func (s *session) answer(dst []byte, m *performatives.Message, c *call, tools []string) ([]byte, error) {
	out, err := s.write(dst, m, extras{answers: !c.hello, handshake: c.hello, tool: c.Tool, tools: tools, elapsed: s.now().Sub(c.Arrived)})
	if err != nil {
		return out, err
	}
	if p, err := performatives.PayloadAs[performatives.InformResult](m); err == nil && p.Status == performatives.StatusPartial {
		c.Partial = true
		return out, nil
	}
	c.Answered = true
	s.calls.End(c, true, false) // unless its CANCEL has no answer yet
	if c.first && m.Performative() != performatives.ActInformCapabilities {
		delete(s.hellos, c.Asker.Fold())
	}
	return out, nil
}

// endCanceled writes the answer to a request of the peer that it has withdrawn: an error. m answers
// the CANCEL.
func (s *session) endCanceled(dst []byte, m *performatives.Message, c *call) ([]byte, error) {
	if m.Undeliverable() { // the request continues
		s.calls.AddCancel(c, "", "")
		return s.write(dst, m, extras{})
	}
	if s.calls.Remove(c); c.Answered {
		return dst, nil
	}
	f := fault{Refusal: performatives.Refusal{Code: performatives.CodeCanceled}, tool: c.Tool}
	if r := m.AsRefusal(); r != nil {
		f.Code, f.Text = r.Code, r.Text
	}
	f.Text = cmp.Or(f.Text, f.Code.Traits().Text)
	return append(dst, errorFrame(m.Sender(), c.Asker, string(c.ID), performatives.Stamp{ID: m.ID(), Time: m.Timestamp()}, f)...), nil
}
