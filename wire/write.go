package wire

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxBatch is the largest number of messages in one write.
const maxBatch = 512

// writer is the buffer that a session needs while it writes. The encoded and unwritten data
// is bounded by Limits.OutboxBytes plus one message.
type writer struct {
	s      *Session
	batch  batch
	frames []Frame
	buf    []byte
	unsent []*performatives.Message // messages that frames contain
	rest   []*performatives.Message // messages of batch that are not encoded yet
}

// writers is a pool, so that idle sessions hold no buffers.
var writers = sync.Pool{New: func() any { return new(writer) }}

// maxPooled is the largest buffer in bytes that is returned to the pool.
const maxPooled = 1 << 20

// write is the session's writing goroutine. It writes everything queued and then waits for
// more.
func (s *Session) write() {
	for {
		select {
		case <-s.out.wake:
		case <-s.ctx.Done():
			return
		}
		w := writers.Get().(*writer)
		w.s = s
		err := w.writeAll()
		w.release()
		if err != nil {
			s.step(event{kind: writeFailed, err: err})
			return
		}
	}
}

// release clears the writer and returns it to the pool.
func (w *writer) release() {
	if cap(w.buf) > maxPooled {
		w.buf = nil
	}
	w.batch.reset()
	w.reset()
	w.rest, w.s = nil, nil
	writers.Put(w)
}

// reset empties the buffers and keeps their capacity.
func (w *writer) reset() {
	clear(w.frames)
	clear(w.unsent)
	w.frames, w.buf, w.unsent = w.frames[:0], w.buf[:0], w.unsent[:0]
}

// writeAll writes until the outbox is empty.
func (w *writer) writeAll() error {
	for more := true; more; {
		w.s.out.take(&w.batch, maxBatch)
		if err := w.writeBatch(); err != nil {
			return err
		}
		if w.batch.final {
			w.s.step(event{kind: outboxFlushed})
		}
		more = len(w.batch.messages) > 0 && w.s.ctx.Err() == nil
	}
	return nil
}

// writeBatch encodes and writes the batch.
func (w *writer) writeBatch() error {
	defer w.saveUnsent() // also after an error or a panic
	w.frames = append(w.frames, w.batch.frames...)
	for i, m := range w.batch.messages {
		w.rest = w.batch.messages[i+1:]
		if err := w.message(m); err != nil {
			return err
		}
	}
	w.frames = append(w.frames, w.batch.last...)
	return w.flush()
}

// saveUnsent records the messages that the peer may not have received: those encoded and not
// written, and the rest of the batch. After a complete write there are none. finish returns
// them to the handler only after the reader has stopped, because the peer may have received
// one and sent a reply.
func (w *writer) saveUnsent() {
	w.s.unsent = append(append(w.s.unsent, w.unsent...), w.rest...)
}

// message encodes m. It writes the collected frames when they reach Limits.OutboxBytes, and
// when m agrees on or offers a compression.
func (w *writer) message(m *performatives.Message) error {
	codec := w.s.language.Load().codec
	start := len(w.buf)
	buf, err := encode(codec, w.buf, m)
	switch {
	case err != nil:
		w.s.logger().Warn("message not written", "performative", m.Performative().String(), "err", err)
		w.returnUnencodable(m, err)
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
	if method := w.agreed(codec); method != "" {
		return w.compress(method)
	}
	if n, ok := codec.(CompressionCodec); ok && w.s.initiator && n.Offered() {
		return w.awaitAnswer()
	}
	if len(buf) >= w.s.core.opts.Limits.OutboxBytes {
		return w.flush()
	}
	return nil
}

// encode calls the codec. A panic becomes an error, because a payload is an application's
// type whose MarshalJSON may panic.
func encode(c Codec, dst []byte, m *performatives.Message) (buf []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			buf, err = dst, fmt.Errorf("%w: %v", errPanicked, v)
		}
	}()
	return c.Encode(dst, m)
}

// returnUnencodable returns a message that the codec cannot encode to the handler, with the
// codec's refusal if there is one.
func (w *writer) returnUnencodable(m *performatives.Message, err error) {
	var r *performatives.Refusal
	if errors.As(err, &r) {
		w.s.undelivered(m, r.Code, r.Text)
		return
	}
	w.s.undelivered(m, performatives.CodeInvalidPayload, "the message cannot be written in the peer's protocol")
}

// agreed returns the compression method that the last encoded message agreed on.
func (w *writer) agreed(codec Codec) string {
	if n, ok := codec.(CompressionCodec); ok && !w.s.initiator {
		return n.Agreed()
	}
	return ""
}

// compress writes the collected frames and starts compression after them.
func (w *writer) compress(method string) error {
	c, ok := w.s.conn.(CompressConn)
	if !ok {
		return w.flush()
	}
	return w.written(c.Compress(method, w.frames))
}

// awaitAnswer writes the collected frames, the last of which offers a compression, and waits
// for the peer's answer for at most Limits.FrameTime. When reading has stopped without an
// answer, the peer's choice is unknown and awaitAnswer fails.
func (w *writer) awaitAnswer() error {
	w.s.offering.Store(true) // before the answer can arrive
	if err := w.flush(); err != nil {
		return err
	}
	timeout := time.NewTimer(w.s.core.opts.Limits.FrameTime)
	defer timeout.Stop()
	select {
	case <-w.s.offerAnswered:
		if w.s.offering.Load() && w.s.readStopped.Load() {
			return errUnanswered
		}
		return nil
	case <-w.s.ctx.Done():
		return ErrClosed
	case <-timeout.C:
		return errUnanswered
	}
}

func (w *writer) flush() error {
	if len(w.frames) == 0 {
		return nil
	}
	return w.written(w.s.conn.Write(w.frames))
}

// written counts and clears the frames after a successful write.
func (w *writer) written(err error) error {
	if err == nil { // after an error, saveUnsent needs them
		w.s.core.totals.sent.Add(uint64(len(w.unsent)))
		w.reset()
	}
	return err
}
