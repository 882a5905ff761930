package tcp

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"sync"
)

// minCompressed is the shortest payload that is worth compressing.
const minCompressed = 512

// Compressors and decompressors are big (some 800 and 40 KiB), so all connections share
// them.
var (
	compressors   = sync.Pool{New: newCompressor}
	decompressors = sync.Pool{New: func() any { return new(decompressor) }}
)

// compressor writes to the end of a slice.
type compressor struct {
	zip *gzip.Writer
	dst []byte
}

func newCompressor() any {
	zip, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("tcp: gzip.BestSpeed is no level: " + err.Error())
	}
	return &compressor{zip: zip}
}

// Write appends p.
func (c *compressor) Write(p []byte) (int, error) {
	c.dst = append(c.dst, p...)
	return len(p), nil
}

// appendGzip appends b compressed to dst, and reports whether that made it shorter. When
// it did not, dst is as it was.
func appendGzip(dst, b []byte) ([]byte, bool) {
	c := compressors.Get().(*compressor)
	defer compressors.Put(c)
	c.dst = dst
	c.zip.Reset(c)
	_, err := c.zip.Write(b)
	if e := c.zip.Close(); err == nil {
		err = e
	}
	out := c.dst
	c.dst = nil
	if err != nil || len(out)-len(dst) >= len(b) {
		return out[:len(dst)], false
	}
	return out, true
}

// decompressor reads what one slice holds.
type decompressor struct {
	src bytes.Reader
	zip gzip.Reader
}

// gunzip appends what b holds compressed to dst, at most limit bytes. The memory that it
// takes grows with what comes out.
func gunzip(dst, b []byte, limit int) ([]byte, error) {
	d := decompressors.Get().(*decompressor)
	defer d.release()
	d.src.Reset(b)
	if err := d.zip.Reset(&d.src); err != nil {
		return dst, refuse("the payload is not gzip, although its header says so")
	}
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(smallBuffer, min(len(dst), limit+1-len(dst))))
		}
		n, err := d.zip.Read(dst[len(dst):min(cap(dst), limit+1)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > limit:
			return dst, refuse("the frame is longer than %d bytes after decompression", limit)
		case err == io.EOF: //nolint:errorlint // gzip returns it as it is
			return dst, nil
		case err != nil:
			return dst, refuse("the payload is broken gzip")
		}
	}
}

func (d *decompressor) release() {
	d.src.Reset(nil)
	decompressors.Put(d)
}
