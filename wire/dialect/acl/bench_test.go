package acl

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

// The baseline: the same envelope as a struct for encoding/json, with the payload
// raw, and the same checks.
type baselineAgent struct {
	AgentID string `json:"agent_id"`
}

type baselineEnvelope struct {
	Version      string          `json:"mcp_version"`
	ID           string          `json:"message_id"`
	Performative string          `json:"performative"`
	Sender       baselineAgent   `json:"sender"`
	Receiver     baselineAgent   `json:"receiver"`
	InReplyTo    string          `json:"in_reply_to,omitempty"`
	ReplyWith    string          `json:"reply_with,omitempty"`
	Conversation string          `json:"conversation_id,omitempty"`
	ReplyBy      string          `json:"reply_by,omitempty"`
	Protocol     string          `json:"protocol,omitempty"`
	Trace        string          `json:"trace,omitempty"`
	Budget       json.RawMessage `json:"budget,omitempty"`
	Language     string          `json:"language"`
	Ontology     string          `json:"ontology"`
	Timestamp    string          `json:"timestamp"`
	Payload      json.RawMessage `json:"payload"`
}

func decodeBaseline(data []byte) (*baselineEnvelope, error) {
	e := new(baselineEnvelope)
	if err := json.Unmarshal(data, e); err != nil {
		return nil, err
	}
	if e.ID == "" || e.Sender.AgentID == "" {
		return nil, errors.New("no id")
	}
	if _, err := performatives.ParsePerformative(e.Performative); err != nil {
		return nil, err
	}
	if _, err := time.Parse(time.RFC3339Nano, e.Timestamp); err != nil {
		return nil, err
	}
	return e, nil
}

// kilobyte is a message of about 1 kB: a call for proposals, whose payload is Raw,
// or a TASK_REQUEST, whose payload is decoded to a Go type.
func kilobyte(performative string) []byte {
	code := strings.Repeat(`for line in open(path):\n    fields = line.split()\n    print(fields[3])\n`, 5)
	return fmt.Appendf(nil, `{"mcp_version":"0.1.0","message_id":"550e8400-e29b-41d4-a716-446655440001","performative":%q,`+
		`"sender":{"agent_id":"Eddy"},"receiver":{"agent_id":"Jules"},"reply_with":"eddy-task-1","conversation_id":"550e8400-e29b-41d4-a716-446655440000",`+
		`"language":"application/json","ontology":"elizaos:ontology:code/python/debug_request","timestamp":"2025-01-30T10:30:00Z",`+
		`"payload":{"task_type":"debug_code","task_description":"Fix the IndexError.","task_parameters":{"code_to_debug":"%s",`+
		`"programming_language":"python","error_log":"IndexError: list index out of range","tags":["parser","logs"],"attempts":2},"priority":"high"}}`,
		performative, code)
}

func BenchmarkDecode(b *testing.B) {
	c := newCodec(b, wire.CodecOptions{})
	raw, typed := kilobyte("CFP"), kilobyte("TASK_REQUEST")
	run := func(name string, data []byte, decode func([]byte) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	ours := func(data []byte) error { _, err := c.Decode(data); return err }
	v1 := func(data []byte) error { _, err := decodeBaseline(data); return err }
	run("raw", raw, ours)
	run("raw/encoding_json", raw, v1)
	run("typed", typed, ours)
	run("typed/encoding_json", typed, func(data []byte) error {
		e, err := decodeBaseline(data)
		if err != nil {
			return err
		}
		var p performatives.TaskRequest
		return json.Unmarshal(e.Payload, &p)
	})
}

func BenchmarkEncode(b *testing.B) {
	c := newCodec(b, wire.CodecOptions{})
	data := kilobyte("CFP")
	baseline, err := decodeBaseline(data)
	if err != nil {
		b.Fatal(err)
	}
	decoded, err := c.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	typed, err := c.Decode(kilobyte("TASK_REQUEST"))
	if err != nil {
		b.Fatal(err)
	}
	made := remade(b, decoded)
	run := func(name string, encode func(dst []byte) ([]byte, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				if buf, err = encode(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("raw", func(dst []byte) ([]byte, error) { return c.Append(dst, made) })
	run("raw/encoding_json", func([]byte) ([]byte, error) { return json.Marshal(baseline) })
	run("decoded", func(dst []byte) ([]byte, error) { return c.Append(dst, typed) })
	run("typed", func(dst []byte) ([]byte, error) { return c.Append(dst, remade(b, typed)) })
}

// remade is m as if it had been made here.
func remade(b *testing.B, m *performatives.Message) *performatives.Message {
	e := m.Envelope()
	e.Shape = nil
	out, err := performatives.New(e)
	if err != nil {
		b.Fatal(err)
	}
	return out
}
