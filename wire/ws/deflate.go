package ws

import (
	"bytes"
	"compress/flate"
	"sync"
)

// minDeflate is the smallest length in bytes of a message that is compressed.
const minDeflate = 256

// deflater compresses messages without a shared context between them: gorilla negotiates only
// this mode (no_context_takeover).
type deflater struct {
	buf bytes.Buffer
	w   *flate.Writer
}

// deflaters is shared by all connections, because one deflater is larger than thousands of
// idle connections.
var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.w, _ = flate.NewWriter(&d.buf, flate.BestSpeed) // fails for unknown levels only
	return d
}}

// tail is the end of flushed data, which is removed before sending (RFC 7692 §7.2.1).
var tail = []byte{0, 0, 0xff, 0xff}

// deflate returns data compressed. The result is valid until release.
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

// release returns d to the pool. It drops a large buffer.
func (d *deflater) release() {
	if d.buf.Cap() > maxIdleBuffer {
		d.buf = bytes.Buffer{}
	}
	deflaters.Put(d)
}
