package acl

import (
	"encoding/json"
	"errors"
	"testing"

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
