package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The baseline: the same envelope as structs for encoding/json, with the arguments raw,
// and a look at the fields that matter.
type baseline struct {
	ID          json.RawMessage            `json:"id"`
	Timestamp   time.Time                  `json:"timestamp"`
	Source      string                     `json:"source"`
	Target      string                     `json:"target_namespace,omitempty"`
	Token       string                     `json:"auth_token,omitempty"`
	Correlation string                     `json:"correlation_id,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
	Payload     baselineRPC                `json:"mcp_payload"`
}

type baselineRPC struct {
	Version string          `json:"jsonrpc"`
	Method  string          `json:"method,omitempty"`
	Params  *baselineParams `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
}

type baselineParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// kilobyte is a tools/call of about 1 KiB.
func kilobyte() []byte {
	code := strings.Repeat(`for line in open(path):\n    fields = line.split()\n    print(fields[3])\n`, 5)
	return fmt.Appendf(nil, `{"id":"550e8400-e29b-41d4-a716-446655440000","timestamp":"2024-01-15T10:30:45.123Z","source":"local-router",`+
		`"target_namespace":"system","auth_token":"Bearer eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9","correlation_id":"req-12345",`+
		`"metadata":{"client_version":"1.2.0","retry_count":0},"mcp_payload":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"debug_code",`+
		`"arguments":{"code_to_debug":"%s","programming_language":"python","error_log":"IndexError: list index out of range",`+
		`"tags":["parser","logs"],"attempts":2}},"id":"mcp-req-001"}}`, code)
}

func benchmarkCodec(b *testing.B) *codec {
	b.Helper()
	return open(b, Options{}, wire.CodecOptions{Stamper: cheap{}, MaxBytes: 16 << 20, MaxPending: 1 << 14})
}

// cheap is a Stamper that costs nothing: the ids are the codec's callers' business.
type cheap struct{}

func (cheap) Stamp() performatives.Stamp { return performatives.Stamp{ID: "stamp", Time: epoch} }

func BenchmarkDecode(b *testing.B) {
	data := kilobyte()
	b.Run("gateway", func(b *testing.B) {
		c := benchmarkCodec(b)
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			c.Decode(data, func(in wire.Inbound) {
				if in.Message == nil {
					b.Fatal(in.Err)
				}
			})
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var e baseline
			if err := json.Unmarshal(data, &e); err != nil || e.Payload.Params.Name == "" {
				b.Fatal(err)
			}
		}
	})
}

// What is encoded is a tools/call to a peer, which is forgotten at once, so that nothing is
// under way the next time.
func BenchmarkEncode(b *testing.B) {
	data := kilobyte()
	var e baseline
	if err := json.Unmarshal(data, &e); err != nil {
		b.Fatal(err)
	}
	b.Run("gateway", func(b *testing.B) {
		in := one(b, benchmarkCodec(b), string(data))
		c := benchmarkCodec(b)
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			var err error
			if buf, err = c.Encode(buf[:0], in.Message); err != nil || len(buf) == 0 {
				b.Fatal(err)
			}
			c.requests.Remove(c.envelopes.Latest(string(in.Message.ID())))
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
