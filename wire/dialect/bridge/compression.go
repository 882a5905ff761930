package bridge

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
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

// compressed returns a payload in its compressed form. It returns false if that is not shorter.
func compressed(payload []byte) ([]byte, bool) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(payload)
	if err == nil {
		err = z.Close()
	}
	o := jsonscan.OpenObject(nil)
	o.Text(encodedData, base64.StdEncoding.EncodeToString(b.Bytes()))
	out, errOut := o.Close()
	return out, err == nil && errOut == nil && len(out) < len(payload)
}

// inflated returns the payload of a message, which is compressed if the peer has agreed to that and
// the message says so. It removes the member payload_encoding.
func (d *decoder) inflated(v []byte) []byte {
	came, ok := d.out.Metadata[memberEncoding]
	if !ok || d.session == nil || !d.agreed(extensionCompression) {
		return v
	}
	delete(d.out.Metadata, memberEncoding)
	if jsonscan.Text(came) != methodGzip {
		d.Wrong(memberEncoding, "%s, got %.32s", methodGzip, came)
		return v
	}
	var data []byte
	jsonscan.Read(v, nil, jsonscan.Find(encodedData, &data))
	raw, err := base64.StdEncoding.DecodeString(jsonscan.Text(data))
	if !jsonscan.Is(data, '"') || err != nil {
		d.Wrong(field(encodedData), "a string in base64")
		return v
	}
	out, err := inflate(raw, d.codec.opts.MaxBytes)
	s := jsonscan.Scanner{Data: out, Depth: d.codec.opts.MaxDepth - 1}
	switch {
	case err != nil:
		d.Refuse(&performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field(encodedData), Text: "payload.data: " + err.Error()})
	case !utf8.Valid(out), s.Peek() != '{', !s.Value(), !s.End():
		d.Refuse(&performatives.Refusal{Code: performatives.CodeParsingError, Field: field(encodedData), Text: "payload.data: want a compressed JSON object"})
	default:
		return bytes.TrimSpace(out)
	}
	return v
}

// inflate returns the decompressed data, which has at most limit bytes.
func inflate(data []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("want gzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("want gzip: %w", err)
	case len(out) > limit:
		return nil, fmt.Errorf("want at most %d bytes after decompression", limit)
	}
	return out, nil
}
