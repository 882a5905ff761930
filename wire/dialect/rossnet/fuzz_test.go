package rossnet

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Message))
		f.Add([]byte(v.Message)[:len(v.Message)*2/3])
	}
	f.Add([]byte(frameOf(kindFail, "A", "B", "c", `{"subtask_id":"018bcfe5-6800-7000-8000-000000000001","error_code":"E009","error_message":"x","is_retryable":true,"retry_after_ms":250}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := open(t, func(o *wire.CodecOptions) { o.MaxBytes = 1 << 16 })
		_ = Dialect{}.Recognizes(data)
		for _, in := range c.items(string(data)) {
			if in.Err != nil {
				if !in.Err.Code.Known() || in.Err.Text == "" {
					t.Fatalf("got %#v", in.Err)
				}
				if len(in.Answer) > 0 {
					if m := accept(t, open(t), string(in.Answer)); !exchange.Refusals.Has(m.Performative()) {
						t.Fatalf("answered by %s", in.Answer)
					}
				}
				return
			}
			if in.Message == nil {
				return // PING or PONG
			}
			out, err := wiretest.Encode(t, c, in.Message)
			if err != nil {
				t.Fatalf("read and not written: %v", err)
			}
			came, went := exact(t, data).(map[string]any), exact(t, out).(map[string]any)
			for _, m := range []map[string]any{came, went} {
				header := m[memHeader].(map[string]any)
				delete(header, headerNames[memTimestamp])                                        // in UTC
				delete(header, headerNames[memToken])                                            // of this session
				for _, name := range []string{"correlation_id", "message_id", "task_metadata"} { // null, and empty text, may be absent
					if v := header[name]; v == nil || v == "" {
						delete(header, name)
					}
				}
				for _, name := range headerNames[memRecipient : memService+1] {
					if header[name] == nil {
						delete(header, name)
					}
				}
			}
			if _, there := came[memHeader].(map[string]any)[headerNames[memID]]; !there {
				delete(went[memHeader].(map[string]any), headerNames[memID]) // null
			}
			// The reader is the writer, whose header has the form of the text: a payload in that of
			// the field is written in that of the text (TestFormOfTheReader).
			self := in.Message.Receiver().Is(in.Message.Sender()) && came[memHeader].(map[string]any)[headerNames[memKind]] == kindAssign
			if payload, err := json.Marshal(came[memPayload]); err != nil || self && isField(kindAssign, payload) {
				delete(came, memPayload)
				delete(went, memPayload)
			}
			if diff := cmp.Diff(came, went); diff != "" {
				t.Fatalf("-came +went:\n%s\n%s", diff, data)
			}
		}
	})
}

// A TASK_ASSIGN whose payload has the form of the field, for a reader that writes the form of the
// text, has the members of the text, and all of its own in input_data.
func TestFormOfTheReader(t *testing.T) {
	c := open(t)
	m := accept(t, c, `{"mcp_header":{"sender_id":"r","recipient_id":"r","timestamp":"2026-01-01T00:00:00Z","version":"1.0","message_type":"TASK_ASSIGN"},"payload":{"query":"q","depth":[0]}}`)
	out, err := wiretest.Encode(t, c, m)
	if err != nil {
		t.Fatal(err)
	}
	payload := exact(t, out).(map[string]any)[memPayload].(map[string]any)
	if diff := cmp.Diff(exact(t, []byte(`{"query":"q","depth":[0]}`)), payload["input_data"]); diff != "" {
		t.Errorf("input_data (-want +got):\n%s\n%s", diff, out)
	}
	if payload["subtask_id"] == nil || payload["task_name"] == nil {
		t.Errorf("got %s", out)
	}
}
