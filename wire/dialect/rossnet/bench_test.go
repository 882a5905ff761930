package rossnet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// kilobyte is a result of about 1 kB.
func kilobyte() []byte {
	text := strings.Repeat("Key Performance Indicators for Q1 include: Revenue Growth, Customer Acquisition. ", 8)
	return []byte(frameOf(kindComplete, "Worker", "Controller", "550e8400-e29b-41d4-a716-446655440090", fmt.Sprintf(`{"subtask_id":"s","output_data":{"text":%q}}`, text)))
}

func BenchmarkDecode(b *testing.B) {
	data := kilobyte()
	b.Run("rossnet", func(b *testing.B) {
		c := open(b)
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
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var v struct {
				Header  map[string]any  `json:"mcp_header"`
				Payload json.RawMessage `json:"payload"`
			}
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	data := kilobyte()
	c := open(b)
	m := accept(b, c, string(data))
	var dst []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var err error
		if dst, err = c.Encode(dst[:0], m); err != nil {
			b.Fatal(err)
		}
	}
}

// A request of the peer and its answer, with the state of the session.
func BenchmarkExchange(b *testing.B) {
	c := open(b)
	request := []byte(frameOf(kindAssign, "A", "B", "c", `{"subtask_id":"s","task_name":"t","input_data":{}}`))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		c.Decode(request, func(in wire.Inbound) {
			answer, err := in.Message.ReplyFrom("B", performatives.Stamp{ID: "answer", Time: noon}, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess})
			if err != nil {
				b.Fatal(err)
			}
			if dst, err = c.Encode(dst[:0], answer); err != nil {
				b.Fatal(err)
			}
		})
	}
}
