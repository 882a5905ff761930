package bridge

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
	for _, file := range []string{"testdata/bridge.jsonl", "testdata/more.jsonl"} {
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

// clock is a stamper with a fixed time and ids in sequence.
type clock struct{ n int }

var arrival = time.Date(2025, 1, 30, 10, 30, 1, 0, time.UTC)

func (c *clock) Stamp() performatives.Stamp {
	c.n++
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("stamp-%d", c.n)), Time: arrival}
}

func newCodec(t testing.TB, o wire.CodecOptions) *Codec {
	t.Helper()
	if o.Stamper == nil {
		o.Stamper = &clock{}
	}
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
			checkRelayed(t, c, m, v.Message)
		})
	}
}

// checkRelayed checks that a copy of the message, as a node that passes it on makes one, is written
// with the same members.
func checkRelayed(t *testing.T, c *Codec, m *performatives.Message, came []byte) {
	t.Helper()
	copied, err := m.With(func(*performatives.Envelope) {})
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Encode(copied)
	if err != nil {
		t.Fatalf("a copy: %v", err)
	}
	want, got := meaning(t, came), meaning(t, out)
	if diff := missing(want, got); diff != "" {
		t.Errorf("a copy lacks %s:\n%s\n%s", diff, came, out)
	}
	again, err := c.Decode(out)
	if err != nil {
		t.Fatalf("a copy is refused: %v\n%s", err, out)
	}
	if again.Performative() != m.Performative() || again.ConversationID() != m.ConversationID() || again.MessageType() != m.MessageType() {
		t.Errorf("%s %s %s became %s %s %s", m.Performative(), m.ConversationID(), m.MessageType(), again.Performative(), again.ConversationID(), again.MessageType())
	}
}

// missing returns the path of the first member of want that got lacks or has with another value.
// Members that say nothing may be missing.
func missing(want, got any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if !cmp.Equal(want, got) {
			return fmt.Sprintf("%v, and has %v", want, got)
		}
		return ""
	}
	g, _ := got.(map[string]any)
	for name, v := range w {
		if v == nil || empty(v) && empty(g[name]) {
			continue
		}
		if diff := missing(v, g[name]); diff != "" {
			return name + "." + diff
		}
	}
	return ""
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

func checkRefused(t *testing.T, err error, want map[string]json.RawMessage) {
	t.Helper()
	var bad *DecodeError
	if !errors.As(err, &bad) {
		t.Fatalf("got error %v, want a refusal", err)
	}
	got := map[string]string{"code": ErrorCodes.Of(bad.Refusal.Code), "field": bad.Refusal.Field, "text": bad.Refusal.Text}
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
	"performative":     func(m *performatives.Message) any { return m.Performative().String() },
	"sender":           func(m *performatives.Message) any { return m.Sender() },
	"receiver":         func(m *performatives.Message) any { return m.Receiver() },
	"priority":         func(m *performatives.Message) any { return strings.ToUpper(m.Priority().String()) },
	"message_id":       func(m *performatives.Message) any { return m.ID() },
	"in_reply_to":      func(m *performatives.Message) any { return m.InReplyTo() },
	"conversation_id":  func(m *performatives.Message) any { return m.ConversationID() },
	"message_type":     func(m *performatives.Message) any { return m.MessageType() },
	"protocol":         func(m *performatives.Message) any { return m.Protocol() },
	"trace":            func(m *performatives.Message) any { return m.Trace() },
	"budget":           func(m *performatives.Message) any { return m.Budget() },
	"timestamp":        func(m *performatives.Message) any { return m.Timestamp() },
	"payload":          func(m *performatives.Message) any { return m.Payload() },
	"payload_type":     func(m *performatives.Message) any { return fmt.Sprintf("%T", m.Payload()) },
	"metadata":         func(m *performatives.Message) any { return m.Envelope().Metadata },
	"reason":           func(m *performatives.Message) any { return m.AsRefusal().Code },
	"reason_text":      func(m *performatives.Message) any { return m.AsRefusal().Text },
	"task_type":        func(m *performatives.Message) any { return m.Payload().(performatives.TaskRequest).TaskType },
	"parameters":       func(m *performatives.Message) any { return m.Payload().(performatives.TaskRequest).Parameters },
	"task_status":      func(m *performatives.Message) any { return m.Payload().(performatives.InformResult).Status },
	"summary":          func(m *performatives.Message) any { return m.Payload().(performatives.InformResult).Summary },
	"details":          func(m *performatives.Message) any { return m.Payload().(performatives.InformResult).Details },
	"capabilities":     func(m *performatives.Message) any { return capabilitiesOf(m) },
	"reply_by_seconds": func(m *performatives.Message) any { return m.ReplyBy().Sub(arrival).Seconds() },
}

func capabilitiesOf(m *performatives.Message) *performatives.Capabilities {
	if q, ok := m.Payload().(performatives.QueryCapabilities); ok {
		return q.Capabilities
	}
	return m.Payload().(performatives.InformCapabilities).Capabilities
}

func checkWant(t *testing.T, m *performatives.Message, want map[string]json.RawMessage) {
	t.Helper()
	for name, raw := range want {
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

// meaning is what a message says: decoded, with the timestamp in the form in which it goes out.
func meaning(t testing.TB, text []byte) any {
	t.Helper()
	v := decoded(t, text).(map[string]any)
	if s, ok := v["timestamp"].(string); ok {
		at, ok := isotime.Parse([]byte(s))
		if !ok {
			t.Fatalf("time %q", s)
		}
		v["timestamp"] = at.Format(time.RFC3339Nano)
	}
	return v
}
