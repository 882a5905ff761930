package wire

import "github.com/ribosome-agents/ribosome/performatives"

// maxBatch is the most messages of one write.
const maxBatch = 512

// writer is the state of a session's writer. What it has encoded and not written is
// bounded by Limits.OutboxBytes and one message.
type writer struct {
	s      *Session
	frames []Frame
	buf    []byte
	bytes  int
	unsent []*performatives.Message // that frames hold
}

// write is the session's writer: it writes what is queued, all of it at once, and then
// waits for more.
func (s *Session) write() {
	w := writer{s: s}
	var b batch
	for {
		select {
		case <-s.out.wake:
		case <-s.ctx.Done():
			return
		}
		for more := true; more; {
			s.out.take(&b, maxBatch)
			if err := w.write(&b); err != nil {
				s.step(event{what: lost, err: err})
				return
			}
			if b.final {
				s.step(event{what: flushed})
			}
			more = len(b.messages) > 0 && s.ctx.Err() == nil
		}
	}
}

// write writes a batch.
func (w *writer) write(b *batch) error {
	w.frames, w.buf, w.bytes = append(w.frames[:0], b.frames...), w.buf[:0], 0
	for i, m := range b.messages {
		if err := w.message(m); err != nil {
			w.lose(b.messages[i+1:])
			return err
		}
	}
	w.frames = append(w.frames, b.last...)
	if err := w.flush(); err != nil {
		w.lose(nil)
		return err
	}
	return nil
}

// lose gives back what the peer perhaps has not got: what was to be written, and rest.
func (w *writer) lose(rest []*performatives.Message) {
	for _, m := range append(w.unsent, rest...) {
		w.s.undelivered(m, performatives.CodeStopped, "the connection to the agent was lost")
	}
	w.unsent = nil
}

// message encodes m, and writes when enough has come together.
func (w *writer) message(m *performatives.Message) error {
	codec := w.s.language.Load().codec
	start := len(w.buf)
	buf, err := codec.Encode(w.buf, m)
	switch {
	case err != nil:
		w.s.logger().Warn("message not written", "performative", m.Performative().String(), "err", err)
		w.s.undelivered(m, performatives.CodeInvalidPayload, "the message cannot be written in the peer's protocol")
		return nil
	case len(buf)-start > w.s.core.opts.Limits.Frame:
		w.s.undelivered(m, performatives.CodeInvalidPayload, "the message is longer than the connection carries")
		return nil
	case len(buf) == start:
		return nil
	}
	w.buf = buf
	w.unsent = append(w.unsent, m)
	w.frames = append(w.frames, Frame{Kind: KindData, Data: buf[start:len(buf):len(buf)]})
	w.bytes += len(buf) - start
	if method := w.agreed(codec); method != "" {
		return w.compress(method)
	}
	if w.bytes >= w.s.core.opts.Limits.OutboxBytes {
		return w.flush()
	}
	return nil
}

// agreed returns the compression that what was just encoded agrees on.
func (w *writer) agreed(codec Codec) string {
	if n, ok := codec.(Negotiating); ok && !w.s.initiator {
		return n.Agreed()
	}
	return ""
}

// compress writes what has come together, and compresses what comes after it.
func (w *writer) compress(method string) error {
	c, ok := w.s.conn.(Compressing)
	if !ok {
		return w.flush()
	}
	return w.written(c.Compress(method, w.frames))
}

func (w *writer) flush() error {
	if len(w.frames) == 0 {
		return nil
	}
	return w.written(w.s.conn.Write(w.frames))
}

// written forgets what has been written.
func (w *writer) written(err error) error {
	if err == nil {
		w.s.core.totals.sent.Add(uint64(len(w.unsent)))
		clear(w.unsent)
		w.unsent = w.unsent[:0]
	}
	w.reset()
	return err
}

// maxIdleBuffer is how much of a buffer is kept between writes.
const maxIdleBuffer = 64 << 10

// reset makes room, and gives the memory of a burst back.
func (w *writer) reset() {
	clear(w.frames)
	w.frames, w.buf, w.bytes = w.frames[:0], w.buf[:0], 0
	if cap(w.buf) > maxIdleBuffer {
		w.buf = nil
	}
	if cap(w.frames) > maxBatch {
		w.frames = nil
	}
}
