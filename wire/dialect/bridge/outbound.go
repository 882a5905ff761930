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
	out, err := s.encode(dst, m)
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

// forget drops a request of this node that is not written.
func (s *session) forget(m *performatives.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.asks.Remove(s.pending.asks.Find(m.Sender(), string(m.ID())))
}

func (s *session) encode(dst []byte, m *performatives.Message) ([]byte, error) {
	toAll := m.ToAll()
	m, err := exchange.Signed(m, s.opts.Token)
	if err != nil {
		return dst, err
	}
	s.mu.Lock()
	c, canceled := s.pending.callOf(m)
	s.mu.Unlock()
	_, receipt := m.Payload().(performatives.Receipt)
	switch act := m.Performative(); {
	case act == performatives.ActCancel:
		return s.withdraw(dst, m)
	case act.ExpectsReply():
		return s.ask(dst, m)
	case exchange.Interim.Has(act) && m.MessageType() == "" && !s.takesProgress(m, c):
		return dst, nil
	case canceled:
		return s.endCanceled(dst, m, c)
	case c != nil && c.Answered:
		return dst, nil
	case c != nil && !exchange.Interim.Has(act):
		return s.answer(dst, m, c)
	case receipt:
		return dst, nil // its request has been answered
	case toAll && s.broadcast(m): // another agent of the peer has got it
		return dst, nil
	}
	return s.write(dst, m, extras{toAll: toAll})
}

// broadcast notes a message to all agents, and reports whether it has been written before.
func (s *session) broadcast(m *performatives.Message) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, key := s.opts.Stamper.Stamp().Time, exchange.KeyOf(m.Sender(), string(m.ID()))
	if _, again = s.broadcasts.Get(key, now); !again {
		s.broadcasts.Put(key, struct{}{}, now)
	}
	return again
}

// takesProgress reports whether m is progress of the call c, and the caller has agreed to get it.
func (s *session) takesProgress(m *performatives.Message, c *call) bool {
	if m.Performative() != performatives.ActStatusUpdate || c == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreedBetween(m.Sender(), c.Asker).has(extensionProgress)
}

// write appends a message that fits into a frame.
func (s *session) write(dst []byte, m *performatives.Message, x extras) ([]byte, error) {
	x.session = true
	s.mu.Lock()
	agreed := s.agreedBetween(m.Sender(), m.Receiver())
	waits := s.greets(m.Sender()) // greetFirst holds m, and hello.go asks then
	s.mu.Unlock()
	switch {
	case m.Sealed() && !agreed.has(extensionEncryption) && !waits:
		return dst, refuseSealed(m)
	case m.Performative() == performatives.ActQueryCapabilities && m.MessageType() == "":
		x.extensions = s.supported()
	case x.handshake:
		x.extensions = agreed
	default:
		x.compress = agreed.has(extensionCompression)
		var err error
		if m, err = s.routed(m, agreed.has(extensionRouting)); err != nil {
			return dst, err
		}
	}
	out, err := s.codec.append(dst, m, x)
	if err == nil && s.opts.MaxBytes > 0 && len(out)-len(dst) > s.opts.MaxBytes {
		return dst, &performatives.Refusal{Code: performatives.CodeInvalidPayload, About: m.ID(), Text: "the message is longer than the connection carries"}
	}
	return out, err
}

// ask writes a request of this node. One that is repeated while it is under way is not written: a
// connection loses nothing, so that the peer has the first copy.
func (s *session) ask(dst []byte, m *performatives.Message) ([]byte, error) {
	stub, err := exchange.Outline(m)
	if err != nil {
		return dst, err
	}
	now := s.opts.Stamper.Stamp().Time
	q := &ask{message: stub, Request: exchange.Request{ID: m.ID(), Asker: m.Sender(), Expires: exchange.Expiry(m.ReplyBy(), now, unlimited)}}
	s.mu.Lock()
	canceled := s.pending.ahead.Refusal(m, func() time.Time { return now })
	again, room := s.pending.asks.Find(m.Sender(), string(m.ID())) != nil, s.pending.asks.Room(now)
	if canceled == nil && !again && room {
		s.pending.asks.Add(q) // before it is written, because the answer may come at once
	}
	s.mu.Unlock()
	switch {
	case canceled != nil:
		return dst, canceled
	case again:
		return dst, nil
	case !room:
		return dst, &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "too many requests to the agent are under way"}
	}
	out, err := s.write(dst, m, extras{})
	if err != nil {
		s.forget(m)
	}
	return out, err
}

// withdraw writes the CANCEL of a request of this node, once. A request that comes after its CANCEL
// is not written.
func (s *session) withdraw(dst []byte, m *performatives.Message) ([]byte, error) {
	stub, err := exchange.Outline(m)
	if err != nil {
		return dst, err
	}
	id := m.InReplyTo()
	s.mu.Lock()
	q := s.pending.parties.Latest(exchange.PartyOf(m))
	switch {
	case q == nil:
		s.pending.ahead.Note(m, s.opts.Stamper.Stamp().Time)
	case q.cancel != nil:
		s.mu.Unlock()
		return dst, nil
	default:
		q.cancel, id = stub, string(q.message.ID())
	}
	s.mu.Unlock()
	if m.InReplyTo() != id {
		if m, err = m.With(func(e *performatives.Envelope) { e.InReplyTo = id }); err != nil {
			return dst, err
		}
	}
	return s.write(dst, m, extras{})
}

// answer writes the answer to a request of the peer.
func (s *session) answer(dst []byte, m *performatives.Message, c *call) ([]byte, error) {
	x := extras{answers: !c.hello, handshake: c.hello, tool: c.Tool, tools: s.opts.Tools, measured: !c.hello, elapsed: s.opts.Stamper.Stamp().Time.Sub(c.Arrived)}
	out, err := s.write(dst, m, x)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, err := performatives.PayloadAs[performatives.InformResult](m); err == nil && p.Status == performatives.StatusPartial {
		c.Partial = true
		return out, nil
	}
	c.Answered = true
	s.pending.calls.End(c, true, false) // unless its CANCEL has no answer yet
	if c.first && m.Performative() != performatives.ActInformCapabilities {
		delete(s.pending.greeted, c.Asker.Fold())
	}
	return out, nil
}

// endCanceled writes the answer to a request of the peer that it has withdrawn: an error. m answers
// the CANCEL.
func (s *session) endCanceled(dst []byte, m *performatives.Message, c *call) ([]byte, error) {
	s.mu.Lock()
	if m.Undeliverable() { // the request continues
		s.pending.calls.AddCancel(c, "", "")
		s.mu.Unlock()
		return s.write(dst, m, extras{})
	}
	answered := c.Answered
	s.pending.calls.Remove(c)
	s.mu.Unlock()
	if answered {
		return dst, nil
	}
	f := fault{code: performatives.CodeCanceled, text: performatives.CodeCanceled.Traits().Text, tool: c.Tool}
	if r := m.AsRefusal(); r != nil {
		f.code, f.text = r.Code, cmp.Or(r.Text, r.Code.Traits().Text)
	}
	return append(dst, errorFrame(m.Sender(), c.Asker, string(c.ID), performatives.Stamp{ID: m.ID(), Time: m.Timestamp()}, f)...), nil
}
