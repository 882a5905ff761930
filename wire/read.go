package wire

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// read is the session's reading goroutine. It returns when the connection ends or the session
// stops reading.
func (s *Session) read() {
	control, take := s.control, s.take // created once, because each method value allocates
	for {
		data, err := s.conn.Read(control)
		if err != nil {
			s.readFailed(err)
			return
		}
		s.busy.Store(true)
		s.receive(data, take)
		s.step(event{kind: receivedData}) // after receive, so that the silence is measured from here
		s.busy.Store(false)
		if s.readStopped.Load() {
			return
		}
	}
}

// readFailed reports the cause of a failed Read to the state machine.
func (s *Session) readFailed(err error) {
	var broken *performatives.Refusal
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		s.step(event{kind: peerClosed})
	case errors.As(err, &broken):
		s.step(event{kind: violation, err: broken, refusal: broken})
	default:
		s.step(event{kind: connectionLost, err: err})
	}
}

// control handles the frames that carry no messages.
func (s *Session) control(f Frame) {
	switch f.Kind {
	case KindPing:
		s.step(event{kind: receivedPing, data: append([]byte(nil), f.Data...)})
	case KindPong:
		s.step(event{kind: receivedPong})
	case KindError:
		s.step(event{kind: receivedError, refusal: f.Err})
	case KindClose:
		s.step(event{kind: receivedClose})
	case KindData: // Read returns data frames
	}
}

// receive handles one data frame.
func (s *Session) receive(data []byte, take func(Inbound)) {
	l := s.language.Load()
	if l == nil {
		if l = s.languageOf(data); l == nil {
			return
		}
	}
	s.reading = l
	s.long = len(data) >= longFrame
	l.codec.Decode(data, take)
	s.applyCompression(l.codec)
}

// longFrame is the frame size in bytes from which the weight of its messages is computed.
// Holders of messages use the weight to bound memory; for smaller messages they count the
// number only.
const longFrame = 4 << 10

// languageOf returns the language of a frame that comes before the dialect of the session is
// decided. It returns nil after an error.
func (s *Session) languageOf(data []byte) *language {
	d, certain := s.core.dialectOf(s.conn, data, s.initiator)
	if d == nil {
		r := &performatives.Refusal{Code: performatives.CodeParsingError, Text: "the message matches no supported protocol"}
		s.step(event{kind: violation, err: r, refusal: r})
		return nil
	}
	l := s.reading // of an earlier frame that did not decide
	if l == nil || l.dialect != d {
		var err error
		if l, err = s.open(d); err != nil {
			s.step(event{kind: violation, err: err, refusal: &performatives.Refusal{Code: performatives.CodeInternal}})
			return nil
		}
	}
	s.recognized = certain
	return l
}

// decides reports whether an item of a frame fixes the dialect in which it was read: a message
// does, and anything readable in a dialect that recognizes the frame.
func (s *Session) decides(in Inbound) bool {
	return in.Message != nil || s.recognized && (in.Err == nil || in.Err.Code != performatives.CodeParsingError)
}

// open opens the codec of d.
func (s *Session) open(d Dialect) (*language, error) {
	o := s.core.opts
	co := CodecOptions{
		Local: o.Name, Initiator: s.initiator, Path: s.peer.Path, Registry: o.Registry, Stamper: o.Stamper,
		MaxBytes: o.Limits.Frame, MaxPending: o.Limits.Pending, Token: o.Token,
	}
	if h, ok := o.Handler.(ToolHandler); ok {
		co.Tools = func(asker, of performatives.AgentID) []string { return h.Tools(s, asker, of) }
		co.Workers = func(asker, of performatives.AgentID, tool string) ([]performatives.AgentID, bool) {
			return h.Workers(s, asker, of, tool)
		}
	}
	if c, ok := s.conn.(CompressConn); ok {
		co.Compression = c.Compressions()
	}
	codec, err := d.Open(co)
	if err != nil {
		return nil, err
	}
	return &language{d, codec}, nil
}

// decide fixes the language of the session, and lets the outbox write messages.
func (s *Session) decide(l *language) {
	s.language.Store(l)
	s.out.resume()
}

// applyCompression switches the connection to the agreed compression method, and resumes a writer
// that waits for the answer to its offer.
func (s *Session) applyCompression(codec Codec) {
	if !s.initiator {
		return
	}
	n, ok := codec.(CompressionCodec)
	if !ok {
		return
	}
	if c, ok := s.conn.(CompressConn); ok {
		if method := n.Agreed(); method != "" {
			if err := c.Compress(method, nil); err != nil {
				s.step(event{kind: connectionLost, err: err})
			}
		}
	}
	if s.offering.Load() && !n.Offered() {
		s.offering.Store(false)
		signal(s.offerAnswered)
	}
}

// take handles one item of a frame.
func (s *Session) take(in Inbound) {
	if s.readStopped.Load() { // an earlier item of the same frame ended the session
		return
	}
	codec := s.reading.codec
	if s.language.Load() == nil && s.decides(in) {
		s.decide(s.reading)
	}
	s.applyCompression(codec) // before the handler can send a reply
	if err := s.gate.rate(); err != nil {
		s.refuse(codec, in, err)
		s.gate.slowDown(s.ctx)
		return
	}
	if in.Rest != nil {
		if err := s.authenticate(in.Token); err != nil {
			s.refuse(codec, in, err)
			return
		}
		in = in.Rest()
	}
	switch {
	case in.Err != nil:
		s.noteRefused(in.Err.Code)
		if len(in.Answer) == 0 {
			s.unanswered.Do(func() { s.logger().Warn("message refused without an answer", "err", in.Err) })
		}
		s.answer(s.naming(in))
	case in.Message == nil:
		if err := s.authenticate(in.Token); err != nil {
			s.refuse(codec, in, err)
			return
		}
		s.answer(in.Answer)
	default:
		if err := s.admit(&in); err != nil {
			s.refuse(codec, in, err)
			return
		}
		in.Message.Arrive(time.Now())
		if s.long {
			in.Message.Weigh()
		}
		if err := s.core.opts.Handler.Receive(s, in.Message); err != nil {
			s.refuse(codec, in, err)
			return
		}
		s.core.totals.received.Add(1)
	}
}

// naming returns the answer to an invalid item. Before the dialect of the session is decided, the
// answer to one that no dialect recognizes names those that there are.
func (s *Session) naming(in Inbound) []byte {
	if s.language.Load() != nil || s.recognized || len(in.Answer) == 0 {
		return in.Answer
	}
	var names []string
	for _, d := range s.core.opts.Dialects {
		names = append(names, d.Name())
	}
	r := *in.Err
	r.Text += "; want a message of one of the dialects " + strings.Join(names, ", ")
	if answer := s.reading.codec.Refuse(nil, in, &r); len(answer) > 0 {
		return answer
	}
	return in.Answer
}

// refuse tells the peer that an item is refused.
func (s *Session) refuse(codec Codec, in Inbound, err error) {
	s.noteRefused(AsRefusal(err).Code)
	s.answer(codec.Refuse(nil, in, err))
}

// noteRefused counts a refusal. It logs at debug level only, so that a peer cannot flood the
// log.
func (s *Session) noteRefused(code performatives.Code) {
	s.core.totals.refused.Add(1)
	if logger := s.core.opts.Logger; logger.Enabled(s.ctx, slog.LevelDebug) {
		s.logger().Debug("message refused", "err", code)
	}
}

// answer queues a frame of the session itself. When the outbox has no space for it, answer
// blocks: a peer that does not read its answers is not read either.
func (s *Session) answer(frame []byte) {
	if len(frame) == 0 {
		return
	}
	f := Frame{Kind: KindData, Data: frame}
	for !s.out.putFrames(f) {
		<-s.out.room // a sealed outbox accepts everything
	}
}
