package tcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// source is the input of a reader: a net.Conn, or a test double.
type source interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// reader decodes frames. Only the reading goroutine uses it, except for form.
type reader struct {
	src             source
	buf             *buffer
	form            atomic.Uint32 // form of the next frame
	limit           int           // largest payload in bytes
	frameTime       time.Duration // for one frame
	inFrame         bool          // a part of the next frame has arrived
	deadlineSet     bool          // the source has a deadline
	deadlineCurrent bool          // the deadline is that of the current frame
	decompressed    []byte        // last decompressed payload
}

// maxControl is the largest payload in bytes of a frame that is not data.
const maxControl = 64 << 10

func newReader(src source, f form, limit int, frameTime time.Duration) *reader {
	r := &reader{src: src, buf: newBuffer(), limit: limit, frameTime: frameTime}
	r.form.Store(uint32(f))
	return r
}

// next returns the next frame. The payload is valid until the next call. The error is io.EOF
// when the stream ends between two frames.
func (r *reader) next() (header, []byte, error) {
	r.recycle()
	h, err := r.header()
	if err != nil {
		return header{}, nil, err
	}
	payload, err := r.payload(h)
	return h, payload, err
}

// recycle releases the memory of the last frame.
func (r *reader) recycle() {
	r.inFrame, r.deadlineCurrent = false, false
	r.buf.shrink()
	if cap(r.decompressed) > busyBuffer {
		r.decompressed = nil
	}
}

// header reads and checks a header.
func (r *reader) header() (header, error) {
	if r.buf.len() == 0 {
		if err := r.fill(0); err != nil {
			return header{}, err
		}
	}
	r.inFrame = true
	f := form(r.form.Load()) // the form when the frame began
	for {
		if f == undecided {
			f = detect(r.buf.bytes())
			r.form.Store(uint32(f)) // no other goroutine stores it before the first frame
		}
		h, ok, err := f.parse(r.buf.bytes())
		if err == nil && ok {
			err = r.check(h)
		}
		if err != nil {
			return header{}, err
		}
		if ok {
			r.buf.next(h.form.headerLen())
			return h, nil
		}
		if err := r.fill(f.headerLen()); err != nil {
			return header{}, err
		}
	}
}

// check refuses invalid headers and lengths over the limit.
func (r *reader) check(h header) error {
	limit := r.limit
	if h.role != data {
		limit = min(limit, maxControl)
	}
	switch {
	case int64(h.length) > int64(limit):
		return refuse("the frame is longer than %d bytes", limit)
	case h.compressed && h.role != data:
		return refuse("a frame is compressed that is not data")
	}
	return nil
}

// payload reads and decompresses the payload of h.
func (r *reader) payload(h header) ([]byte, error) {
	n := int(h.length)
	for r.buf.len() < n {
		if err := r.fill(n); err != nil {
			return nil, err
		}
	}
	b := r.buf.next(n)
	if !h.compressed {
		return b, nil
	}
	var err error
	r.decompressed, err = gunzip(r.decompressed[:0], b, r.limit)
	return r.decompressed, err
}

// fill reads at least one more byte. most is the length of the current frame, which bounds
// the buffer if it exceeds busyBuffer. Between two frames fill blocks without a deadline,
// within a frame until the frame's deadline.
func (r *reader) fill(most int) error {
	if err := r.arm(); err != nil {
		return err
	}
	n, err := r.src.Read(r.buf.free(most))
	r.buf.filled(n)
	switch {
	case n > 0:
		return nil
	case err == nil:
		return io.ErrNoProgress
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse("a frame did not arrive in time")
	case errors.Is(err, io.EOF) && r.inFrame:
		return fmt.Errorf("tcp: the connection ended within a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// arm sets the deadline of the current frame once, and clears it between frames.
func (r *reader) arm() error {
	switch {
	case !r.inFrame && r.deadlineSet:
		r.deadlineSet = false
		return r.src.SetReadDeadline(time.Time{})
	case r.inFrame && !r.deadlineCurrent:
		r.deadlineSet, r.deadlineCurrent = true, true
		return r.src.SetReadDeadline(time.Now().Add(r.frameTime))
	}
	return nil
}
