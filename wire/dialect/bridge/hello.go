package bridge

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// hello is the handshake of an agent of the end that opened the connection. The other end refuses
// what the agent sends before.
type hello struct {
	agent performatives.AgentID
	done  bool     // the peer has accepted it
	own   bool     // the codec has made it: no agent waits for its answer
	held  []queued // what the agent has sent since, until the answer

	extensions extensions // that both ends use
}

// queued is a frame that waits for a handshake.
type queued struct {
	message *performatives.Message // a request without its payload
	frame   []byte
}

// hellos has the handshakes of this end. The session's lock guards it.
type hellos struct {
	byAgent map[performatives.AgentID]*hello // by folded id
	byID    map[string]*hello                // those without an answer, by the id of the handshake_request
	held    int                              // bytes of all frames that wait
}

// greetFirst returns the frame to write in place of out, the frame of m: that of a handshake of its
// sender, or none while a handshake has no answer. out is then written after the answer.
func (s *session) greetFirst(m *performatives.Message, out []byte) ([]byte, error) {
	if !s.opts.Initiator {
		return out, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	agent := m.Sender().Fold()
	h := s.hellos.byAgent[agent]
	switch {
	case h != nil && h.done:
		if m.Sealed() && !h.extensions.has(extensionEncryption) { // the answer may have come after write
			return nil, refuseSealed(m)
		}
		return out, nil
	case m.Performative() == performatives.ActQueryCapabilities && m.MessageType() == "": // its own handshake
		if h == nil {
			h = &hello{agent: m.Sender()}
			s.hellos.byAgent[agent] = h
		}
		s.hellos.byID[string(m.ID())] = h
		return out, nil
	case s.opts.MaxBytes > 0 && s.hellos.held+len(out) > 2*s.opts.MaxBytes, len(s.hellos.byAgent) >= maxGreeted:
		return nil, &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "the peer has not answered the handshake"}
	}
	var err error
	stub := m // what expects no reply is not kept after its frame is written, or dropped
	if m.Performative().ExpectsReply() {
		if stub, err = exchange.Outline(m); err != nil {
			return nil, err
		}
	}
	var first []byte
	if h == nil {
		h = &hello{agent: m.Sender(), own: true}
		if first, err = s.introduce(h, m); err != nil {
			return nil, err
		}
		s.hellos.byAgent[agent] = h
	}
	h.held = append(h.held, queued{stub, append([]byte(nil), out...)})
	s.hellos.held += len(out)
	return first, nil
}

// introduce returns a handshake_request of an agent that has no tools, to the receiver of m.
func (s *session) introduce(h *hello, m *performatives.Message) ([]byte, error) {
	stamp := s.opts.Stamper.Stamp()
	q, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: m.Sender(), Priority: m.Priority(),
		Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{}},
	})
	if err == nil {
		q, err = exchange.Signed(q, s.opts.Token)
	}
	if err != nil {
		return nil, err
	}
	s.hellos.byID[string(stamp.ID)] = h
	return s.codec.append(nil, q, extras{session: true, extensions: s.supported()})
}

// greetingAnswered handles the answer to a handshake of this end. It reports whether the codec has
// made the handshake, so that no agent waits for the answer.
func (s *session) greetingAnswered(d *decoder, m *performatives.Message, take func(wire.Inbound)) (own bool) {
	s.mu.Lock()
	h := s.hellos.byID[d.correlation]
	delete(s.hellos.byID, d.correlation)
	s.mu.Unlock()
	if h == nil {
		return false
	}
	accepted := m != nil && m.Performative() == performatives.ActInformCapabilities
	if accepted {
		s.mu.Lock()
		h.extensions = d.extensions
		s.mu.Unlock()
	}
	for {
		waiting := s.unhold(h, accepted)
		if len(waiting) == 0 {
			return h.own
		}
		for _, q := range waiting {
			switch {
			case !accepted:
				take(s.unsent(q.message, ungreeted(m)))
			case q.message.Sealed() && !d.extensions.has(extensionEncryption):
				take(s.unsent(q.message, refuseSealed(q.message)))
			default:
				take(wire.Inbound{Answer: q.frame})
			}
		}
	}
}

// unhold returns the frames that wait for a handshake. When there are none, the handshake is over.
func (s *session) unhold(h *hello, accepted bool) []queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := h.held
	h.held = nil
	for _, q := range waiting {
		s.hellos.held -= len(q.frame)
	}
	if len(waiting) == 0 {
		h.done = accepted
		if !accepted {
			delete(s.hellos.byAgent, h.agent.Fold())
		}
	}
	return waiting
}

// unsent returns the refusal of a message that was held and is not written: a message, or for the
// log if the held one expects no reply.
func (s *session) unsent(held *performatives.Message, why *performatives.Refusal) wire.Inbound {
	s.forget(held)
	if m := held.RefuseCopy(held.Receiver(), s.opts.Stamper.Stamp(), why); m != nil {
		return wire.Inbound{Message: m}
	}
	return wire.Inbound{Err: why}
}

// ungreeted returns the refusal of a message whose sender the peer has not accepted.
func ungreeted(answer *performatives.Message) *performatives.Refusal {
	why := &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "the peer has not accepted the handshake"}
	if answer != nil {
		if r := answer.AsRefusal(); r != nil && r.Code != performatives.CodeUnspecified {
			why.Code, why.Text = r.Code, why.Text+": "+r.Text
		}
	}
	return why
}
