package tcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// source is what a reader reads from.
type source interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// reader makes frames of bytes. It belongs to one goroutine, but for form.
type reader struct {
	src      source
	buf      *buffer
	form     atomic.Uint32 // how the next frame is written: a form
	limit    int           // the longest payload
	patience time.Duration // for one frame
	within   bool          // something of the next frame has come
	timed    bool          // the source has a deadline
	current  bool          // and it is that of the frame under way
	plain    []byte        // the last payload that was decompressed
}

// maxControl is the longest payload that is not data.
const maxControl = 64 << 10

func newReader(src source, f form, limit int, patience time.Duration) *reader {
	r := &reader{src: src, buf: newBuffer(), limit: limit, patience: patience}
	r.form.Store(uint32(f))
	return r
}

// next returns the next frame. The payload is valid until the next call. The error is
// io.EOF between two frames.
func (r *reader) next() (header, []byte, error) {
	r.recycle()
	h, err := r.header()
	if err != nil {
		return header{}, nil, err
	}
	payload, err := r.payload(h)
	return h, payload, err
}

// recycle gives back the memory of the last frame.
func (r *reader) recycle() {
	r.within, r.current = false, false
	r.buf.shrink()
	if cap(r.plain) > busyBuffer {
		r.plain = nil
	}
}

// header reads a header, and refuses what may not follow it.
func (r *reader) header() (header, error) {
	if r.buf.len() == 0 {
		if err := r.fill(0); err != nil {
			return header{}, err
		}
	}
	r.within = true
	f := form(r.form.Load()) // of when the frame began
	for {
		if f == undecided {
			f = detect(r.buf.bytes())
			r.form.Store(uint32(f)) // nobody else does before there has been a frame
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

// check refuses frames by their headers.
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

// payload reads what follows a header.
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
	r.plain, err = gunzip(r.plain[:0], b, r.limit)
	return r.plain, err
}

// fill reads at least a byte more, into a buffer of at most so many bytes if that is more
// than the usual. Between two frames it waits as long as it takes, within one no longer
// than the frame may take.
func (r *reader) fill(most int) error {
	if err := r.clock(); err != nil {
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
		return refuse("a frame did not come in time")
	case errors.Is(err, io.EOF) && r.within:
		return fmt.Errorf("tcp: the connection ended within a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// clock sets the deadline of the frame under way, once, and takes it away between two
// frames.
func (r *reader) clock() error {
	switch {
	case !r.within && r.timed:
		r.timed = false
		return r.src.SetReadDeadline(time.Time{})
	case r.within && !r.current:
		r.timed, r.current = true, true
		return r.src.SetReadDeadline(time.Now().Add(r.patience))
	}
	return nil
}
