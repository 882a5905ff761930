package bridge

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// methodGzip is the one method of the extension compression.
const methodGzip = "gzip"

// The members of a message with a compressed payload: the method, beside the payload, and the
// compressed JSON in base64, in it.
const (
	memberEncoding = "payload_encoding"
	encodedData    = "data"
)

// compressFrom is the length in bytes from which a payload is compressed.
const compressFrom = 8 << 10

// compressed returns a payload in its compressed form, and whether that is shorter.
func compressed(payload []byte) (short []byte, ok bool) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(payload) // a buffer never fails
	_ = z.Close()
	o := jsonscan.OpenObject(nil)
	o.Text(encodedData, base64.StdEncoding.EncodeToString(b.Bytes()))
	short, _ = o.Close() // a text is no fault
	return short, len(short) < len(payload)
}

// inflated returns the payload v, decompressed if the peer has agreed to that and the message says
// so. It removes the member payload_encoding.
func (d *decoder) inflated(v []byte) []byte {
	encoding, ok := d.out.Metadata[memberEncoding]
	if !ok || d.session == nil || !d.agreed(extensionCompression) {
		return v
	}
	delete(d.out.Metadata, memberEncoding)
	if jsonscan.Text(encoding) != methodGzip {
		d.Wrong(memberEncoding, "%s, got %.32s", methodGzip, encoding)
		return nil
	}
	limit := d.codec.opts.MaxBytes
	text := strings.NewReader(jsonscan.Text(jsonscan.Member(v, encodedData)))
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, text))
	var out []byte
	if err == nil {
		out, err = io.ReadAll(io.LimitReader(z, int64(limit)+1))
	}
	s := jsonscan.Scanner{Data: out, Depth: exchange.MaxDepth - 1}
	switch {
	case err != nil:
		d.Wrong(field(encodedData), "gzip in base64: %v", err)
	case len(out) > limit:
		d.Wrong(field(encodedData), "at most %d bytes after decompression", limit)
	case !utf8.Valid(out), s.Peek() != '{', !s.Value(), !s.End():
		d.WrongAs(performatives.CodeParsingError, field(encodedData), "a compressed JSON object")
	}
	return bytes.TrimSpace(out)
}
