package acl

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// A payload that a registered message type demands may not be missing.
func TestMissingPayloadOfARegisteredType(t *testing.T) {
	var registry performatives.Registry
	want := errors.New("want an amount")
	if err := registry.RegisterChecked("PAY", performatives.ActRequest, func(payload json.RawMessage) error {
		if string(payload) == "{}" {
			return want
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	c := newCodec(t, wire.CodecOptions{Registry: &registry})
	for payload, fits := range map[string]bool{"": false, `,"payload":null`: false, `,"payload":{}`: false, `,"payload":{"amount":1}`: true} {
		for _, act := range []string{"REQUEST", "CONFIRM"} {
			_, err := c.Decode([]byte(`{"mcp_version":"0.1.0","message_id":"m","performative":"` + act + `","message_type":"PAY","sender":{"agent_id":"a"},
				"receiver":{"agent_id":"b"},"in_reply_to":"x","language":"application/json","timestamp":"2025-01-30T10:30:01Z"` + payload + `}`))
			refusal := performatives.RefusalOf(err)
			if (err == nil) != (fits && act == "REQUEST") || err != nil && (refusal == nil || refusal.Code != performatives.CodeInvalidPayload) {
				t.Errorf("%s with %q: %v", act, payload, err)
			}
		}
	}
}

// A payload that is known to be JSON is written as it is, also with a priority in it. Any other one
// is checked.
func TestParsedPayload(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	for name, tt := range map[string]struct {
		priority performatives.Priority
		payload  any
		want     string // empty: it cannot be written
	}{
		"parsed":                  {performatives.Normal, performatives.Parsed(`{"a": 1}`), `"payload":{"a": 1}`},
		"parsed, urgent":          {performatives.Urgent, performatives.Parsed(`{"a": 1}`), `"payload":{"priority":"urgent","a": 1}`},
		"parsed, with another":    {performatives.Urgent, performatives.Parsed(`{"priority":"low"}`), `"payload":{"priority":"urgent"}`},
		"not read when parsed":    {performatives.Normal, performatives.Parsed(`{"a": }`), `"payload":{"a": }`},
		"raw":                     {performatives.Normal, performatives.Raw(`{"a": 1}`), `"payload":{"a": 1}`},
		"raw that is not JSON":    {performatives.Normal, performatives.Raw(`{"a": }`), ""},
		"raw that is not UTF-8":   {performatives.Normal, performatives.Raw("{\"a\": \"\xff\"}"), ""},
		"raw that nests too deep": {performatives.Normal, performatives.Raw(`{"a":` + strings.Repeat("[", 130) + strings.Repeat("]", 130) + `}`), ""},
	} {
		m, err := performatives.New(performatives.Envelope{
			ID: "m", Performative: performatives.ActInform, Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0), Priority: tt.priority, Payload: tt.payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Encode(m)
		if (err == nil) != (tt.want != "") || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}
