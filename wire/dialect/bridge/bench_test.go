package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The baseline: the same envelope as a struct for encoding/json, with the payload as a struct, and
// the same checks.
type baselineEnvelope struct {
	ID          string          `json:"message_id"`
	Type        string          `json:"message_type"`
	Sender      string          `json:"sender_id"`
	Receiver    *string         `json:"receiver_id"`
	Timestamp   string          `json:"timestamp"`
	Correlation *string         `json:"correlation_id"`
	Priority    string          `json:"priority"`
	Payload     baselineRequest `json:"payload"`
}

type baselineRequest struct {
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Timeout   float64         `json:"timeout"`
}

func decodeBaseline(data []byte) (*baselineEnvelope, error) {
	e := new(baselineEnvelope)
	if err := json.Unmarshal(data, e); err != nil {
		return nil, err
	}
	if e.ID == "" || e.Sender == "" || e.Payload.Tool == "" {
		return nil, errors.New("a member is missing")
	}
	_, err := time.Parse(time.RFC3339Nano, e.Timestamp)
	return e, err
}

// kilobyte is a request of about 1 kB.
func kilobyte() []byte {
	code := strings.Repeat(`for line in open(path):\n    fields = line.split()\n    print(fields[3])\n`, 6)
	return fmt.Appendf(nil, `{"message_id":"550e8400-e29b-41d4-a716-446655440001","message_type":"request","sender_id":"Eddy","receiver_id":"Jules",`+
		`"timestamp":"2025-01-30T10:30:00Z","correlation_id":null,"priority":"high","payload":{"tool_name":"debug_code",`+
		`"arguments":{"code_to_debug":"%s","programming_language":"python","error_log":"IndexError: list index out of range","tags":["parser","logs"],"attempts":2},"timeout":30}}`, code)
}

func run(b *testing.B, name string, size int, once func() error) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(size))
		for b.Loop() {
			if err := once(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	c := newCodec(b, wire.CodecOptions{Stamper: wire.SystemStamper{}})
	data := kilobyte()
	run(b, "request", len(data), func() error { _, err := c.Decode(data); return err })
	run(b, "request/encoding_json", len(data), func() error { _, err := decodeBaseline(data); return err })
}

func BenchmarkEncode(b *testing.B) {
	c := newCodec(b, wire.CodecOptions{Stamper: wire.SystemStamper{}})
	data := kilobyte()
	baseline, err := decodeBaseline(data)
	if err != nil {
		b.Fatal(err)
	}
	decoded, err := c.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	e := decoded.Envelope()
	e.Shape = nil
	made, err := performatives.New(e)
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	run(b, "request", len(data), func() error { buf, err = c.Append(buf[:0], made); return err })
	run(b, "request/encoding_json", len(data), func() error { _, err := json.Marshal(baseline); return err })
	run(b, "decoded", len(data), func() error { buf, err = c.Append(buf[:0], decoded); return err })
}
