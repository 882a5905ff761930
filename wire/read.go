package wire

import (
	"errors"
	"io"
	"log/slog"

	"github.com/ribosome-agents/ribosome/performatives"
)

// read is the session's reader: it reads until the connection has nothing more.
func (s *Session) read() {
	control, take := s.control, s.take // here, and not in the loop, where each allocates
	for {
		data, err := s.conn.Read(control)
		if err != nil {
			s.readFailed(err)
			return
		}
		s.busy.Store(true)
		s.receive(data, take)
		s.step(event{what: heardData}) // afterwards: silence begins now
		s.busy.Store(false)
		if s.deaf.Load() {
			return
		}
	}
}

// readFailed says why there is nothing more to read.
func (s *Session) readFailed(err error) {
	var broken *performatives.Refusal
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		s.step(event{what: hungUp})
	case errors.As(err, &broken):
		s.step(event{what: broke, err: broken, tell: broken})
	default:
		s.step(event{what: lost, err: err})
	}
}

// control takes the frames that carry no messages.
func (s *Session) control(f Frame) {
	switch f.Kind {
	case KindPing:
		s.step(event{what: heardPing, data: append([]byte(nil), f.Data...)})
	case KindPong:
		s.step(event{what: heardPong})
	case KindError:
		s.step(event{what: heardError, tell: f.Err})
	case KindClose:
		s.step(event{what: heardClose})
	case KindData: // comes from Read
	}
}

// receive takes what one frame holds.
func (s *Session) receive(data []byte, take func(Inbound)) {
	l := s.language.Load()
	if l == nil {
		if l = s.agree(data); l == nil {
			return
		}
	}
	s.long = len(data) >= longFrame
	l.codec.Decode(data, take)
	s.negotiated(l.codec)
}

// longFrame is from how many bytes on the messages of a frame are weighed, so that those
// who keep them can bound their bytes. Shorter ones are bounded by their number.
const longFrame = 4 << 10

// agree finds the language of the session by its first frame.
func (s *Session) agree(data []byte) *language {
	d := s.core.dialectOf(s.conn, data, s.initiator)
	if d == nil {
		r := &performatives.Refusal{Code: performatives.CodeParsingError, Text: "the message is of no protocol that is spoken here"}
		s.step(event{what: broke, err: r, tell: r})
		return nil
	}
	if err := s.speak(d); err != nil {
		s.step(event{what: broke, err: err, tell: &performatives.Refusal{Code: performatives.CodeInternal}})
		return nil
	}
	return s.language.Load()
}

// speak makes d the language of the session.
func (s *Session) speak(d Dialect) error {
	o := s.core.opts
	co := CodecOptions{
		Local: o.Name, Initiator: s.initiator, Registry: o.Registry, Stamper: o.Stamper,
		MaxBytes: o.Limits.Frame, MaxPending: o.Limits.Pending, Token: o.Token,
	}
	if c, ok := s.conn.(Compressing); ok {
		co.Compression = c.Compressions()
	}
	codec, err := d.Open(co)
	if err != nil {
		return err
	}
	s.language.Store(&language{d, codec})
	s.out.speak()
	return nil
}

// negotiated switches to the compression that what was just read agreed on, and lets the
// writer go on that waits for that.
func (s *Session) negotiated(codec Codec) {
	if !s.initiator {
		return
	}
	n, ok := codec.(Negotiating)
	if !ok {
		return
	}
	if c, ok := s.conn.(Compressing); ok {
		if method := n.Agreed(); method != "" {
			if err := c.Compress(method, nil); err != nil {
				s.step(event{what: lost, err: err})
			}
		}
	}
	if s.offering.Load() && !n.Offered() {
		s.offering.Store(false)
		signal(s.answered)
	}
}

// take takes one thing that a frame held.
func (s *Session) take(in Inbound) {
	if s.deaf.Load() { // because of something before it in the same frame
		return
	}
	codec := s.language.Load().codec
	s.negotiated(codec) // before anybody can answer what was agreed on
	if err := s.gate.rate(); err != nil {
		s.turnDown(codec, in, err)
		s.gate.slowDown(s.ctx)
		return
	}
	switch {
	case in.Err != nil:
		s.noteRefused(in.Err.Code)
		s.answer(in.Answer)
	case in.Message == nil:
		if err := s.authenticate(in.Token); err != nil {
			s.turnDown(codec, in, err)
			return
		}
		s.answer(in.Answer)
	default:
		if err := s.admit(in); err != nil {
			s.turnDown(codec, in, err)
			return
		}
		if s.long {
			in.Message.Weigh()
		}
		if err := s.core.opts.Handler.Receive(s, in.Message); err != nil {
			s.turnDown(codec, in, err)
			return
		}
		s.core.totals.received.Add(1)
	}
}

// turnDown tells the peer that something is not served.
func (s *Session) turnDown(codec Codec, in Inbound, err error) {
	s.noteRefused(AsRefusal(err).Code)
	s.answer(codec.Refuse(nil, in, err))
}

// noteRefused counts what is not served. A log line each would be a way to flood the
// log, so it is for those who look.
func (s *Session) noteRefused(code performatives.Code) {
	s.core.totals.refused.Add(1)
	if logger := s.core.opts.Logger; logger.Enabled(s.ctx, slog.LevelDebug) {
		s.logger().Debug("message refused", "err", code)
	}
}

// answer queues a frame of the session's own. When there is no room for it the peer
// does not read its answers, and so its questions wait.
func (s *Session) answer(frame []byte) {
	if len(frame) == 0 {
		return
	}
	f := Frame{Kind: KindData, Data: frame}
	for !s.out.putFrames(f) {
		<-s.out.room // or the session has ended, and takes everything
	}
}
