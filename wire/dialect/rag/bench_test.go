package rag

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

// baseline is the envelope as a struct for encoding/json, with the payload raw.
type baseline struct {
	Type      string          `json:"type"`
	Sender    string          `json:"sender"`
	Receiver  string          `json:"receiver"`
	Trace     string          `json:"trace_id"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

func readBaseline(data []byte) (*baseline, error) {
	e := new(baseline)
	if err := json.Unmarshal(data, e); err != nil {
		return nil, err
	}
	if e.Type == "" || e.Sender == "" || e.Trace == "" {
		return nil, errors.New("incomplete")
	}
	_, err := time.Parse(time.RFC3339Nano, e.Timestamp)
	return e, err
}

// kilobyte is a result of about 1 kB.
func kilobyte() []byte {
	text := strings.Repeat("Key Performance Indicators for Q1 include: Revenue Growth, Customer Acquisition. ", 8)
	return []byte(frameOf(typeRetrieved, "RetrievalAgent", "LLMResponseAgent", "ret-rag-conversation-123-002",
		fmt.Sprintf(`{"query":"KPIs?","retrieved_chunks":[{"chunk_id":"c1","content":%q,"similarity_score":0.92}],"total_results":5}`, text)))
}

func BenchmarkDecode(b *testing.B) {
	data := kilobyte()
	b.Run("rag", func(b *testing.B) {
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
			if _, err := readBaseline(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	data := kilobyte()
	b.Run("rag", func(b *testing.B) {
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
	})
	b.Run("baseline", func(b *testing.B) {
		e, err := readBaseline(data)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := json.Marshal(e); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A request of the peer and its answer, with the state of the session.
func BenchmarkExchange(b *testing.B) {
	c := open(b)
	request := []byte(frameOf(typeRetrieval, "A", "B", "ret-c-001", query))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		c.Decode(request, func(in wire.Inbound) {
			m := in.Message
			answer, err := m.ReplyFrom("B", performatives.Stamp{ID: "answer", Time: noon}, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess})
			if err != nil {
				b.Fatal(err)
			}
			if dst, err = c.Encode(dst[:0], answer); err != nil {
				b.Fatal(err)
			}
		})
	}
}
