package tcp

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"sync"
)

// minCompressed is the smallest payload in bytes that is compressed.
const minCompressed = 512

// The pools are shared by all connections, because a compressor needs about 800 KiB and a
// decompressor about 40 KiB.
var (
	compressors = sync.Pool{New: func() any {
		zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
		return &compressor{zip: zip}
	}}
	decompressors = sync.Pool{New: func() any { return new(decompressor) }}
)

// compressor is a gzip writer that appends to a slice.
type compressor struct {
	zip *gzip.Writer
	dst []byte
}

// Write appends p.
func (c *compressor) Write(p []byte) (int, error) {
	c.dst = append(c.dst, p...)
	return len(p), nil
}

// appendGzip appends b compressed to dst and returns true. If the result is not shorter than
// b, it returns dst unchanged and false.
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

// decompressor is a gzip reader over a slice.
type decompressor struct {
	src bytes.Reader
	zip gzip.Reader
}

// gunzip appends the decompressed b to dst, at most limit bytes. Its memory grows with the
// output.
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
		case err == io.EOF: //nolint:errorlint // gzip does not wrap it
			return dst, nil
		case err != nil:
			return dst, refuse("the payload is corrupt gzip")
		}
	}
}

func (d *decompressor) release() {
	d.src.Reset(nil)
	decompressors.Put(d)
}
