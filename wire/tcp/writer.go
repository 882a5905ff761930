package tcp

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sync"

	"github.com/ribosome-agents/ribosome/wire"
)

// writer encodes and writes frames. The connection's lock guards it.
type writer struct {
	dst    io.Writer
	form   form
	server bool
	b      []byte // bytes that are not written yet; nil between two writes
}

// chunk is the number of bytes that are collected before a network write. A payload of this
// length is written without copying, because copying it costs more than a write.
const chunk = 32 << 10

// writeBuffers is shared by all connections, so that an idle connection has no write buffer.
var writeBuffers = sync.Pool{New: func() any { return &writeBuffer{b: make([]byte, 0, busyBuffer)} }}

type writeBuffer struct{ b []byte }

// write writes frames with as few network writes as possible.
func (w *writer) write(frames []wire.Frame) error {
	buf := writeBuffers.Get().(*writeBuffer)
	defer writeBuffers.Put(buf)
	w.b = buf.b[:0]
	err := w.writeAll(frames)
	if cap(w.b) <= 2*busyBuffer {
		buf.b = w.b[:0]
	}
	w.b = nil
	return err
}

func (w *writer) writeAll(frames []wire.Frame) error {
	for _, f := range frames {
		if err := w.frame(f); err != nil {
			return err
		}
		if len(w.b) < chunk {
			continue
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.b) == 0 {
		return nil
	}
	_, err := w.dst.Write(w.b)
	w.b = w.b[:0]
	return err
}

// frame encodes one frame.
func (w *writer) frame(f wire.Frame) error {
	h := header{form: w.form, typ: uint16(f.Kind)}
	if w.form == versioned {
		if h.typ = versionedType(f, w.server); h.typ == 0 {
			return nil
		}
	}
	payload := w.payload(f)
	if w.form == flagged && f.Kind == wire.KindData && len(payload) >= minCompressed && w.compressed(h, payload) {
		return nil
	}
	return w.raw(h, payload)
}

// raw adds a frame without compression.
func (w *writer) raw(h header, payload []byte) error {
	if uint64(len(payload)) > math.MaxUint32 {
		return errors.New("tcp: the frame exceeds the 32-bit length of its header")
	}
	h.length = uint32(len(payload))
	w.b = h.append(w.b)
	if len(payload) < chunk {
		w.b = append(w.b, payload...)
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	_, err := w.dst.Write(payload)
	return err
}

// compressed adds a compressed frame and returns true, or returns false if compression does
// not shorten it.
func (w *writer) compressed(h header, payload []byte) bool {
	start := len(w.b)
	h.compressed = true
	b, ok := appendGzip(h.append(w.b), payload)
	if !ok {
		w.b = b[:start]
		return false
	}
	body := start + h.form.headerLen()
	binary.BigEndian.PutUint32(b[body-4:], uint32(len(b)-body))
	w.b = b
	return true
}

// payload returns the payload of a frame in this form.
func (w *writer) payload(f wire.Frame) []byte {
	switch {
	case f.Kind == wire.KindError && f.Err == nil: // the payload is encoded already
		return f.Data
	case f.Kind == wire.KindError:
		return errorPayload(f.Err, w.form)
	case w.form == versioned && f.Kind != wire.KindData:
		return healthPayload
	}
	return f.Data
}

// versionedType returns the type of a frame in the versioned form, or zero if it has none.
func versionedType(f wire.Frame, server bool) uint16 {
	switch f.Kind {
	case wire.KindData:
		return dataType(f.Data, server)
	case wire.KindPing, wire.KindPong:
		return typeHealth
	case wire.KindError:
		return typeError
	case wire.KindClose: // the end of the stream takes its place
	}
	return 0
}
