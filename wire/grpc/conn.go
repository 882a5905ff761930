package grpc

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxBatch bounds a gRPC message of more than one frame, in bytes.
const maxBatch = 1 << 20

// conn is a stream as a connection.
type conn struct {
	patient
	peer     wire.Peer
	patience time.Duration // for one write
	closing  func(said bool)
	lost     func(error) error // translates an error of RecvMsg

	in    carrier
	rest  []byte // the unread part of in
	limit int    // greatest length of a field of a Frame, in bytes
	over  bool   // the peer has sent CLOSE: later frames are dropped

	out  carrier
	said atomic.Bool                           // the last frame has been written
	told atomic.Pointer[performatives.Refusal] // the reason in the ERROR that this end has sent

	once sync.Once
	done chan struct{} // closed by Close
}

var _ wire.DialectConn = (*conn)(nil)

func newConn(s stream, p wire.Peer, l wire.Limits) *conn {
	return &conn{patient: patient{stream: s, to: "the peer"}, peer: p, patience: l.FrameTime, limit: l.Frame, done: make(chan struct{})}
}

// Peer describes the other end.
func (c *conn) Peer() wire.Peer { return c.peer }

// Dialect returns [Dialect].
func (c *conn) Dialect() wire.Dialect { return Dialect{} }

// SetLimit sets the greatest length of an envelope or a signal, in bytes.
func (c *conn) SetLimit(bytes int) { c.limit = bytes }

// Close ends the stream. After the last frame, the stream ends when the peer has received
// that frame; frames that arrive until then are dropped.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.done)
		c.closing(c.said.Load())
	})
	return nil
}

func (c *conn) closed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Read returns the next envelopes: all that follow each other in one gRPC message.
func (c *conn) Read(control func(wire.Frame)) ([]byte, error) {
	for {
		data, err := c.next(control)
		if len(data) > 0 || err != nil {
			return data, err
		}
		if err := c.stream.RecvMsg(&c.in); err != nil {
			if err = c.lost(err); c.late.Load() {
				err = wire.ErrSlow // the writer has ended the stream
			}
			return nil, err
		}
		c.rest = c.in.bytes()
	}
}

// next takes the received envelopes up to the next signal, or up to one that is too long:
// the limit may change before that envelope is read. It returns nothing when no envelope
// is left.
func (c *conn) next(control func(wire.Frame)) ([]byte, error) {
	n := 0
	for n < len(c.rest) && !c.over && !c.closed() {
		num, size := field(c.rest[n:])
		isSignal := num >= framePing
		switch {
		case size < 0:
			return nil, errNoFrame()
		case (isSignal || size > c.limit) && n > 0:
			return c.take(n), nil
		case size > c.limit:
			return nil, errTooLong(c.limit)
		case isSignal:
			f, ok := signal(num, c.take(size))
			if !ok {
				return nil, errNoFrame()
			}
			control(f)
			c.over = c.over || f.Kind == wire.KindClose
		default:
			n += size
		}
	}
	if c.over || c.closed() {
		c.rest = nil
		return nil, nil
	}
	return c.take(n), nil
}

// take removes the first n bytes from rest, and returns them.
func (c *conn) take(n int) []byte {
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func errNoFrame() error {
	return &performatives.Refusal{Code: performatives.CodeParsingError, Text: "the message is no protobuf Frame"}
}

func errTooLong(limit int) error {
	return &performatives.Refusal{Code: performatives.CodeParsingError, Text: fmt.Sprintf("the message is longer than %d bytes", limit)}
}

// batches pools the buffers for frames that are written together. A connection holds one
// only while it writes.
var batches = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled is the largest buffer that returns to the pool, in bytes.
const maxPooled = 2 * maxBatch

// Write writes frames as gRPC messages of many frames each. One time limit holds for all of
// them, because SendMsg has none.
func (c *conn) Write(frames []wire.Frame) error {
	defer c.within(c.patience).Stop()
	buf := batches.Get().(*[]byte)
	defer batches.Put(buf)
	for len(frames) > 0 {
		b, n := batch(buf, frames)
		c.out.set(b)
		err := c.send(&c.out)
		c.out.set(nil)
		if err != nil {
			return err
		}
		for _, f := range frames[:n] {
			c.note(f)
		}
		frames = frames[n:]
	}
	return nil
}

// batch returns the bytes of the first n frames, in buf. A single frame is not copied: gRPC
// copies it.
func batch(buf *[]byte, frames []wire.Frame) (b []byte, n int) {
	if len(frames) == 1 && frames[0].Kind == wire.KindData {
		return frames[0].Data, 1
	}
	size := 0
	for n < len(frames) && (n == 0 || size+len(frames[n].Data) <= maxBatch) {
		size += len(frames[n].Data)
		n++
	}
	b = slices.Grow((*buf)[:0], size)
	for _, f := range frames[:n] {
		b = appendWire(b, f)
	}
	if cap(b) <= maxPooled {
		*buf = b[:0]
	}
	return b, n
}

// note records the frames that matter for the end of the stream.
func (c *conn) note(f wire.Frame) {
	switch f.Kind {
	case wire.KindError:
		c.told.Store(f.Err)
	case wire.KindClose:
		c.said.Store(true)
		if s, ok := c.stream.(interface{ CloseSend() error }); ok {
			_ = s.CloseSend() // it never fails
		}
	case wire.KindData, wire.KindPing, wire.KindPong:
	}
}
