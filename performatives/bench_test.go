package performatives_test

import (
	"encoding/json"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

const taskJSON = `{"task_type":"debug_code","task_description":"Fix the IndexError of the log parser.",` +
	`"task_parameters":{"code_to_debug":"for l in open(f): print(l.split()[9])","programming_language":"python"},` +
	`"priority":"high"}`

func debugRequest() p.Envelope {
	return p.Envelope{
		ID:       "3f0a4c1e-8f1d-4d63-9c0e-0c1a5b0f7c11",
		Sender:   "Eddy",
		Receiver: "Jules",
		Protocol: "request", ReplyWith: "3f0a4c1e-8f1d-4d63-9c0e-0c1a5b0f7c11",
		Ontology:  p.OntologyDebugRequest,
		Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Trace:     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Payload:   p.TaskRequest{TaskType: "debug_code", Description: "Fix the IndexError"},
	}
}

var sinkMessage *p.Message

// BenchmarkNew measures one validated message, beside the bare allocation of
// as large a struct, which is the least that it can cost.
func BenchmarkNew(b *testing.B) {
	e := debugRequest()
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := p.New(e)
			if err != nil {
				b.Fatal(err)
			}
			sinkMessage = m
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkEnvelope = &p.Envelope{}
			*sinkEnvelope = e
		}
	})
}

var sinkEnvelope *p.Envelope

func BenchmarkReply(b *testing.B) {
	m, err := p.New(debugRequest())
	if err != nil {
		b.Fatal(err)
	}
	stamp := p.Stamp{ID: "a1f0c6f2-1f9a-4a55-a6d6-0d6d1f6b8f10", Time: m.Timestamp()}
	var payload any = p.TaskAccept{TaskID: "t-1"}
	b.ReportAllocs()
	for b.Loop() {
		r, err := m.Reply(stamp, payload)
		if err != nil {
			b.Fatal(err)
		}
		sinkMessage = r
	}
}

// BenchmarkDecodePayload measures the payload of a TASK_REQUEST, beside what
// encoding/json takes to read it into a map.
func BenchmarkDecodePayload(b *testing.B) {
	var r *p.Registry
	b.Run("task_request", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(taskJSON)))
		for b.Loop() {
			if _, err := r.DecodePayload(p.ActTaskRequest, "", json.RawMessage(taskJSON)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(taskJSON)))
		for b.Loop() {
			var v map[string]any
			if err := json.Unmarshal([]byte(taskJSON), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodePayload(b *testing.B) {
	v, err := (*p.Registry)(nil).DecodePayload(p.ActTaskRequest, "", json.RawMessage(taskJSON))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.(p.TaskRequest).MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}
