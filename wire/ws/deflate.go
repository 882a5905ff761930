package ws

import (
	"bytes"
	"compress/flate"
	"sync"
)

// minDeflate is the length from which a message is compressed, where that was agreed.
const minDeflate = 256

// deflater compresses messages, each by itself: gorilla agrees on nothing else.
type deflater struct {
	buf bytes.Buffer
	w   *flate.Writer
}

// deflaters are shared by all connections: one of them is larger than thousands of idle
// connections.
var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.w, _ = flate.NewWriter(&d.buf, flate.BestSpeed) // an error is of another level
	return d
}}

// tail ends what is flushed; it does not travel (RFC 7692, 7.2.1).
var tail = []byte{0, 0, 0xff, 0xff}

// deflate returns data compressed, valid until release.
func (d *deflater) deflate(data []byte) ([]byte, error) {
	d.buf.Reset()
	d.w.Reset(&d.buf)
	if _, err := d.w.Write(data); err != nil {
		return nil, err
	}
	if err := d.w.Flush(); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(d.buf.Bytes(), tail), nil
}

// release gives back what a long message took.
func (d *deflater) release() {
	if d.buf.Cap() > maxIdleBuffer {
		d.buf = bytes.Buffer{}
	}
	deflaters.Put(d)
}
