package acl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// vector is one line of testdata: a message as it arrives and what it must show.
type vector struct {
	Name    string
	Valid   bool
	Message json.RawMessage
	Want    map[string]json.RawMessage
}

func vectors(t testing.TB) []vector {
	var vs []vector
	for _, file := range []string{"testdata/acl.jsonl", "testdata/more.jsonl"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var v vector
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%s: %v in %s", file, err, line)
			}
			vs = append(vs, v)
		}
	}
	return vs
}

func newCodec(t testing.TB, o wire.CodecOptions) *Codec {
	c := New(o)
	return c
}

func TestVectors(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			m, err := c.Decode(v.Message)
			if !v.Valid {
				checkRefused(t, err, v.Want)
				return
			}
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			checkWant(t, m, v.Want)
			out, err := c.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(meaning(t, v.Message), meaning(t, out)); diff != "" {
				t.Errorf("written again it differs (-came +went):\n%s", diff)
			}
			checkKeeps(t, v, out)
		})
	}
}

func checkRefused(t *testing.T, err error, want map[string]json.RawMessage) {
	t.Helper()
	var refusal *performatives.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got error %v, want a refusal", err)
	}
	got := map[string]string{"code": string(refusal.Code), "field": refusal.Field, "text": refusal.Text}
	for name, raw := range want {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
}

// shown are the values of a message that a vector may want.
var shown = map[string]func(*performatives.Message) any{
	"performative":    func(m *performatives.Message) any { return m.Performative().String() },
	"sender":          func(m *performatives.Message) any { return m.Sender() },
	"receiver":        func(m *performatives.Message) any { return m.Receiver() },
	"priority":        func(m *performatives.Message) any { return strings.ToUpper(m.Priority().String()) },
	"message_id":      func(m *performatives.Message) any { return m.ID() },
	"in_reply_to":     func(m *performatives.Message) any { return m.InReplyTo() },
	"reply_with":      func(m *performatives.Message) any { return m.ReplyWith() },
	"conversation_id": func(m *performatives.Message) any { return m.ConversationID() },
	"message_type":    func(m *performatives.Message) any { return m.MessageType() },
	"protocol":        func(m *performatives.Message) any { return m.Protocol() },
	"trace":           func(m *performatives.Message) any { return m.Trace() },
	"budget":          func(m *performatives.Message) any { return m.Budget() },
	"language":        func(m *performatives.Message) any { return m.Language() },
	"ontology":        func(m *performatives.Message) any { return m.Ontology() },
	"reply_by":        func(m *performatives.Message) any { return m.ReplyBy() },
	"timestamp":       func(m *performatives.Message) any { return m.Timestamp() },
	"style":           func(m *performatives.Message) any { return map[Style]string{Spec: "spec", IDE: "ide"}[StyleOf(m)] },
	"task_type":       func(m *performatives.Message) any { return m.Payload().(performatives.TaskRequest).TaskType },
	"parameters":      func(m *performatives.Message) any { return m.Payload().(performatives.TaskRequest).Parameters },
	"task_status":     func(m *performatives.Message) any { return m.Payload().(performatives.InformResult).Status },
	"payload_type":    func(m *performatives.Message) any { return fmt.Sprintf("%T", m.Payload()) },
	"metadata":        func(m *performatives.Message) any { return m.Envelope().Metadata },
	"estimate_seconds": func(m *performatives.Message) any {
		return m.Payload().(performatives.TaskAccept).Estimate.Duration().Seconds()
	},
}

func checkWant(t *testing.T, m *performatives.Message, want map[string]json.RawMessage) {
	t.Helper()
	for name, raw := range want {
		if name == "keeps" {
			continue
		}
		show, ok := shown[name]
		if !ok {
			t.Fatalf("the vector wants %q, which this test doesn't know", name)
		}
		got, err := json.Marshal(show(m))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, raw), decoded(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func checkKeeps(t *testing.T, v vector, out []byte) {
	t.Helper()
	var paths []string
	if raw, ok := v.Want["keeps"]; ok {
		if err := json.Unmarshal(raw, &paths); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range paths {
		came, went := decoded(t, v.Message), decoded(t, out)
		for name := range strings.SplitSeq(path, ".") {
			came, went = came.(map[string]any)[name], went.(map[string]any)[name]
		}
		if came == nil || !cmp.Equal(came, went) {
			t.Errorf("%s came as %v and went as %v", path, came, went)
		}
	}
}

// decoded is JSON as Go values, with numbers as their text.
func decoded(t testing.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// meaning is what a message says: decoded, with the two things that have one
// form on the way out in that form.
func meaning(t testing.TB, text []byte) any {
	t.Helper()
	v := decoded(t, text).(map[string]any)
	for _, name := range []string{"timestamp", "reply_by"} {
		if s, ok := v[name].(string); ok && s != "" {
			v[name] = instant(t, s)
		}
	}
	if p, ok := v["payload"].(map[string]any); ok && v["performative"] == "INFORM_RESULT" {
		if s, ok := p["task_status"].(string); ok {
			p["task_status"] = strings.ToLower(s)
		}
	}
	return v
}

func instant(t testing.TB, s string) string {
	t.Helper()
	at, ok := isotime.Parse([]byte(s))
	if !ok {
		t.Fatalf("time %q", s)
	}
	return at.Format(time.RFC3339Nano)
}
