package wire

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxBatch is the most messages of one write.
const maxBatch = 512

// writer is what a session needs to write. What it has encoded and not written is
// bounded by Limits.OutboxBytes and one message.
type writer struct {
	s      *Session
	batch  batch
	frames []Frame
	buf    []byte
	unsent []*performatives.Message // that frames hold
	rest   []*performatives.Message // of batch, not encoded yet
}

// writers lends a session a writer for as long as it has something to write, so that
// the thousands that are idle hold none.
var writers = sync.Pool{New: func() any { return new(writer) }}

// maxPooled is the largest buffer that is kept for others.
const maxPooled = 1 << 20

// write is the session's writing goroutine: it writes what is queued, all of it at
// once, and then waits for more.
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
		w.giveBack()
		if err != nil {
			s.step(event{what: unwritten, err: err})
			return
		}
	}
}

// giveBack forgets the session and all that was its own.
func (w *writer) giveBack() {
	if cap(w.buf) > maxPooled {
		w.buf = nil
	}
	w.batch.forget()
	w.forget()
	w.rest, w.s = nil, nil
	writers.Put(w)
}

// forget makes room, and lets go of what was in it.
func (w *writer) forget() {
	clear(w.frames)
	clear(w.unsent)
	w.frames, w.buf, w.unsent = w.frames[:0], w.buf[:0], w.unsent[:0]
}

// writeAll writes until nothing is queued.
func (w *writer) writeAll() error {
	for more := true; more; {
		w.s.out.take(&w.batch, maxBatch)
		if err := w.writeBatch(); err != nil {
			return err
		}
		if w.batch.final {
			w.s.step(event{what: flushed})
		}
		more = len(w.batch.messages) > 0 && w.s.ctx.Err() == nil
	}
	return nil
}

// writeBatch writes what was taken.
func (w *writer) writeBatch() error {
	defer w.lose() // however it ends
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

// lose keeps what the peer perhaps has not got: what has been encoded and not written, and
// the rest. After all has been written, that is nothing. It is given back once nobody
// reads any more, since what the peer has got after all it may have answered.
func (w *writer) lose() {
	w.s.unsent = append(append(w.s.unsent, w.unsent...), w.rest...)
}

// message encodes m, and writes when enough has come together.
func (w *writer) message(m *performatives.Message) error {
	codec := w.s.language.Load().codec
	start := len(w.buf)
	buf, err := encode(codec, w.buf, m)
	switch {
	case err != nil:
		w.s.logger().Warn("message not written", "performative", m.Performative().String(), "err", err)
		w.unwritable(m, err)
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
	if n, ok := codec.(Negotiating); ok && w.s.initiator && n.Offered() {
		return w.await()
	}
	if len(buf) >= w.s.core.opts.Limits.OutboxBytes {
		return w.flush()
	}
	return nil
}

// encode has the codec write m. A payload is an application's type, and its MarshalJSON
// may panic.
func encode(c Codec, dst []byte, m *performatives.Message) (buf []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			buf, err = dst, fmt.Errorf("%w: %v", errPanicked, v)
		}
	}()
	return c.Encode(dst, m)
}

// unwritable gives back what the codec does not write: a refusal of the codec's says why.
func (w *writer) unwritable(m *performatives.Message, err error) {
	var r *performatives.Refusal
	if errors.As(err, &r) {
		w.s.undelivered(m, r.Code, r.Text)
		return
	}
	w.s.undelivered(m, performatives.CodeInvalidPayload, "the message cannot be written in the peer's protocol")
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

// await writes what has come together, the last of which offers a compression, and waits
// for the answer. A peer may take its time with it as with a frame. One that says nothing
// more has not agreed, unless it did so in what nobody reads.
func (w *writer) await() error {
	w.s.offering.Store(true) // before the answer can come
	if err := w.flush(); err != nil {
		return err
	}
	patience := time.NewTimer(w.s.core.opts.Limits.FrameTime)
	defer patience.Stop()
	select {
	case <-w.s.answered:
		if w.s.offering.Load() && w.s.deaf.Load() {
			return errUnanswered
		}
		return nil
	case <-w.s.ctx.Done():
		return ErrClosed
	case <-patience.C:
		return errUnanswered
	}
}

func (w *writer) flush() error {
	if len(w.frames) == 0 {
		return nil
	}
	return w.written(w.s.conn.Write(w.frames))
}

// written makes room once frames are with the transport.
func (w *writer) written(err error) error {
	if err == nil { // else they are still to be given back
		w.s.core.totals.sent.Add(uint64(len(w.unsent)))
		w.forget()
	}
	return err
}
