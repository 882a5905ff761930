package rag

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
)

// vector is a message of the specification, or one like it, and what it means.
type vector struct {
	Name    string
	Valid   bool
	Message json.RawMessage
	Want    map[string]any
}

func vectorsIn(t testing.TB, file string) (all []vector) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		var v vector
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

func vectors(t testing.TB) []vector {
	t.Helper()
	return append(vectorsIn(t, "testdata/vectors/rag.jsonl"), vectorsIn(t, "testdata/messages.jsonl")...)
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			c := open(t)
			all := c.items(string(v.Message))
			if !v.Valid {
				if all[0].Err == nil {
					t.Fatal("accepted")
				}
				code, text, field := errorOf(t, all[0].Answer)
				if want := v.Want["field"]; code != v.Want["code"] || want != nil && (field != want || !strings.HasPrefix(text, field+": ")) {
					t.Errorf("got %s %s: %s", code, field, text)
				}
				return
			}
			m := accept(t, c, string(v.Message))
			for name, want := range v.Want {
				if got := shown(m)[name]; got != want {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
			if trace := value(t, string(v.Message), "trace_id"); TraceID(m) != trace || Conversation(trace) != m.ConversationID() {
				t.Errorf("the trace id is %s, of the conversation %s", TraceID(m), Conversation(TraceID(m)))
			}
			out := write(t, c, m)
			if diff := cmp.Diff(exact(t, v.Message), exact(t, []byte(out))); diff != "" {
				t.Errorf("-came +went:\n%s", diff)
			}
		})
	}
}

// shown returns what a vector may say of a message.
func shown(m *performatives.Message) map[string]any {
	v := map[string]any{
		"performative": m.Performative().String(), "conversation_id": string(m.ConversationID()), "message_type": m.MessageType(),
		"priority": m.Priority().String(), "protocol": m.Protocol(), "trace": m.Trace(), "in_reply_to": m.InReplyTo(),
	}
	switch p := m.Payload().(type) {
	case performatives.TaskRequest:
		v["task_type"], v["description"] = p.TaskType, p.Description
	case performatives.InformResult:
		v["task_status"], v["summary"] = string(p.Status), p.Summary
	case performatives.Failure:
		v["retryable"], v["code"] = string(p.Extra["retry_possible"]) == "true", string(p.ErrorCode)
	case performatives.TaskReject:
		v["code"] = string(p.ReasonCode)
	case performatives.QueryCapabilities:
		v["topics"], v["actions"] = strings.Join(p.Capabilities.Topics, ","), ""
		for _, a := range p.Capabilities.Actions {
			v["actions"] = strings.TrimPrefix(v["actions"].(string)+","+a.Name, ",")
		}
	}
	return v
}

// The dialect claims its own messages, the broken ones too, and no other dialect's.
func TestRecognizes(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors/*.jsonl")
	if err != nil || len(files) != 5 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "testdata/messages.jsonl") {
		want := strings.HasSuffix(file, "rag.jsonl") || strings.HasSuffix(file, "messages.jsonl")
		for _, v := range vectorsIn(t, file) {
			if got := (Dialect{}).Recognizes(v.Message); got != want {
				t.Errorf("%s, %s: %v", file, v.Name, got)
			}
		}
	}
	for frame, want := range map[string]bool{
		``: false, `[]`: false, `"type"`: false, `{"type":"X"}`: false, `{"payload":{}}`: false, `{"type":"X","sender":"a"`: false,
		`{"type":"X","sender":"a"}`: true, ` {"trace_id":"x","payload":{`: true, `{"a":{"type":1,"sender":1}}`: false,
		`{"type":"X","sender":"a","performative":"INFORM"}`: false, `{"type":"X","sender":"a","message_type":"request"}`: false,
		`{"error":{},"source":"x","payload":1}`: false,
	} {
		if got := (Dialect{}).Recognizes([]byte(frame)); got != want {
			t.Errorf("%s: %v", frame, got)
		}
	}
}
