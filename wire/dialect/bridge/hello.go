package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// hello is the handshake of an agent of the end that opened the connection. The other end refuses
// what the agent sends before.
type hello struct {
	extensions extensions // that both ends use

	// Of an agent of this end.
	agent performatives.AgentID
	done  bool     // the peer has accepted it
	own   bool     // the codec has made it: no agent waits for its answer
	held  []queued // what the agent has sent since, until the answer
}

// queued is a frame that waits for a handshake.
type queued struct {
	message *performatives.Message // a request without its payload
	frame   []byte
}

// greetFirst returns the frame to write in place of out, the frame of m: that of a handshake of its
// sender, or none while a handshake has no answer. out is then written after the answer.
func (s *session) greetFirst(m *performatives.Message, out []byte) ([]byte, error) {
	if !s.greets(m.Sender()) {
		return out, nil
	}
	agent := m.Sender().Fold()
	h := s.hellos[agent]
	switch {
	case m.Performative() == performatives.ActQueryCapabilities && m.MessageType() == "": // its own handshake
		if h == nil {
			h = &hello{agent: m.Sender()}
			s.hellos[agent] = h
		}
		s.greetings[string(m.ID())] = h
		return out, nil
	case s.opts.MaxBytes > 0 && s.held+len(out) > 2*s.opts.MaxBytes, len(s.hellos) >= maxGreeted:
		return nil, m.Refused(performatives.CodeBusy, "the peer has not answered the handshake")
	}
	var first []byte
	if h == nil { // an agent without tools shakes hands
		stamp := s.opts.Stamper.Stamp()
		e := performatives.Envelope{
			ID: stamp.ID, Timestamp: stamp.Time, Sender: m.Sender(), Priority: m.Priority(),
			Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{}},
		}
		token, _ := m.Metadata(exchange.MemberToken)
		exchange.Keep(&e.Metadata, exchange.MemberToken, token)
		q, err := performatives.New(e)
		if err != nil {
			return nil, err
		}
		first, err = s.codec.append(nil, q, extras{session: true, extensions: s.supported()})
		if err != nil {
			return nil, err
		}
		h = &hello{agent: m.Sender(), own: true}
		s.greetings[string(stamp.ID)], s.hellos[agent] = h, h
	}
	held := queued{m, bytes.Clone(out)}
	if q := s.asks.Find(m.Sender(), string(m.ID())); q != nil {
		held.message = q.message
	}
	h.held = append(h.held, held)
	s.held += len(out)
	return first, nil
}

// greetingAnswered handles the answer to a handshake of this end. It reports whether the codec has
// made the handshake, so that no agent waits for the answer.
func (s *session) greetingAnswered(d *decoder, m *performatives.Message, take func(wire.Inbound)) (own bool) {
	accepted := m != nil && m.Performative() == performatives.ActInformCapabilities
	s.mu.Lock()
	h := s.greetings[d.correlation]
	delete(s.greetings, d.correlation)
	if h != nil && accepted {
		h.extensions = d.extensions
	}
	s.mu.Unlock()
	for h != nil { // until nothing waits: then the handshake is over
		s.mu.Lock()
		waiting := h.held
		h.held = nil
		for _, q := range waiting {
			s.held -= len(q.frame)
		}
		if h.done = accepted && len(waiting) == 0; !accepted && len(waiting) == 0 {
			delete(s.hellos, h.agent.Fold())
		}
		s.mu.Unlock()
		if len(waiting) == 0 {
			return h.own
		}
		for _, q := range waiting {
			switch {
			case !accepted:
				take(s.unsent(q.message, ungreeted(m)))
			case q.message.Sealed() && !d.extensions.Has(extensionEncryption):
				take(s.unsent(q.message, refuseSealed(q.message)))
			default:
				take(wire.Inbound{Answer: q.frame})
			}
		}
	}
	return false
}

// unsent returns the refusal of a message that was held and is not written: a message, or for the
// log if the held one expects no reply.
func (s *session) unsent(held *performatives.Message, why *performatives.Refusal) wire.Inbound {
	s.mu.Lock()
	s.forget(held)
	s.mu.Unlock()
	if m := held.RefuseCopy(held.Receiver(), s.opts.Stamper.Stamp(), why); m != nil {
		return wire.Inbound{Message: m}
	}
	return wire.Inbound{Err: why}
}

// ungreeted returns the refusal of a message whose sender the peer has not accepted.
func ungreeted(answer *performatives.Message) *performatives.Refusal {
	why := performatives.Refused(performatives.CodeUnauthorized, "the peer has not accepted the handshake")
	if answer == nil {
		return why
	}
	if r := answer.AsRefusal(); r != nil && r.Code != performatives.CodeUnspecified {
		why.Code, why.Text = r.Code, why.Text+": "+r.Text
	}
	return why
}
