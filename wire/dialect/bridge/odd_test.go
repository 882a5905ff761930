package bridge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Without a session, progress is an event like any other. More unknown members than may be are
// refused in the envelope, in its metadata, and in the payload. An event inform with data alone is
// that.
func TestOddMessages(t *testing.T) {
	c := New(wire.CodecOptions{})
	var members strings.Builder
	for i := range exchange.MaxUnknown + 1 {
		fmt.Fprintf(&members, `"k%d":1,`, i)
	}
	many := members.String()
	text := func(payload, metadata string) string {
		return `{"message_id":"m","message_type":"notification","sender_id":"a","correlation_id":"c","payload":{` + payload + `"event_type":"progress"},"metadata":{` + metadata + `"own":1}}`
	}
	for name, tt := range map[string]struct{ text, want string }{
		"progress":             {text("", ""), ""},
		"many in the payload":  {text(many, ""), "payload: want no more than 1,024 unknown members"},
		"many in the metadata": {text("", many), "metadata: want no more than 1,024 unknown members"},
	} {
		m, err := c.Decode([]byte(tt.text))
		if r := performatives.RefusalOf(err); (tt.want == "") != (r == nil) || r != nil && (r.Text != tt.want || r.Code != performatives.CodeParsingError) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && m.Performative() != performatives.ActInform {
			t.Errorf("%s: %s", name, m.Performative())
		}
	}
	for payload, want := range map[string]string{
		`{"event_type":"inform","data":{"a":1}}`:       `{"a":1}`,
		`{"event_type":"inform","data":{"a":1},"b":2}`: `{"event_type":"inform","data":{"a":1},"b":2}`,
		`{"event_type":"inform","data":null}`:          `{"event_type":"inform","data":null}`,
		`{"event_type":"other","data":{"a":1}}`:        `{"event_type":"other","data":{"a":1}}`,
	} {
		m, err := c.Decode([]byte(`{"message_id":"m","message_type":"notification","sender_id":"a","payload":` + payload + `}`))
		if err != nil || fmt.Sprintf("%s", m.Payload()) != want {
			t.Errorf("%s: %v, %v", payload, m, err)
		}
	}
	m, err := performatives.New(performatives.Envelope{
		ID: "m", Sender: "a", Timestamp: time.Unix(1, 0), Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{
			Actions: []performatives.Action{{Name: "x", InputSchema: json.RawMessage("{")}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.Encode(m); err == nil {
		t.Errorf("a schema that is no JSON is written: %s", out)
	}
	f := Factory{Codec: c, Sender: "a"}
	if m, err = f.HandshakeRequest("", AgentCapabilities{AgentName: "n", AgentRole: "r"}); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Encode(m); err != nil || !strings.Contains(string(out), `"tools":[],"version":"`+Version+`","metadata":{}`) {
		t.Errorf("%s, %v", out, err)
	}
}

// A refusal with a message type whose payload is none of the application's has the words of this
// dialect for its code; without a code, those of the code unspecified.
func TestTypedRefusalWithoutPayloadOfItsOwn(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	for code, want := range map[performatives.Code]string{
		"":                         `"error_code":"EXECUTION_FAILED","error_message":"no"`,
		performatives.CodeBusy:     `"error_code":"INTERNAL_ERROR","error_message":"no"`,
		performatives.CodeNoMatch:  `"error_code":"TOOL_NOT_FOUND","error_message":"no"`,
		performatives.CodeRejected: `"error_code":"EXECUTION_FAILED","error_message":"no"`,
	} {
		m, err := performatives.New(performatives.Envelope{
			ID: "m", Sender: "a", Receiver: "b", InReplyTo: "q", Timestamp: time.Unix(1, 0), MessageType: "REVIEW",
			Payload: performatives.TaskReject{ReasonCode: code, ReasonText: "no"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Encode(m); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %s, %v", code, out, err)
		}
	}
}

// A codec without a session writes the extensions of a handshake as they came, also if the message
// is not the one that was read.
func TestExtensionsWithoutSession(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	m, err := c.Decode([]byte(`{"message_id":"m","message_type":"handshake_request","sender_id":"a","payload":{"agent_id":"a","agent_name":"n","agent_role":"r","extensions":{"x":{"y":1}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.With(func(e *performatives.Envelope) { e.Priority = performatives.High }); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Encode(m); err != nil || strings.Count(string(out), `"extensions":{"x":{"y":1}}`) != 1 {
		t.Errorf("%s, %v", out, err)
	}
}
