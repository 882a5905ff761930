package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// A token is in Inbound.Token and nowhere else, however the frame is wrong.
func TestTokensStayWhereTheyBelong(t *testing.T) {
	const secret = "hush-hush"
	envelope := func(members, payload string) string {
		return `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"s","auth_token":"Bearer ` + secret + `"` + members + `,"mcp_payload":` + payload + `}`
	}
	request := `{"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":"a","authorization":"` + secret + `"},"auth_token":"` + secret + `"}`
	for name, frame := range map[string]string{
		"request":          envelope("", request),
		"notification":     envelope("", `{"jsonrpc":"2.0","method":"x","auth-token":"`+secret+`"}`),
		"spelled":          envelope(`,"Auth_Token":"`+secret+`","metadata":{"Authorization":"`+secret+`","envelope.auth_token":"`+secret+`"}`, request),
		"initialize":       envelope("", `{"jsonrpc":"2.0","method":"initialize","id":1,"params":{"protocolVersion":"1.0","auth_token":"`+secret+`"}}`),
		"no such method":   envelope("", `{"jsonrpc":"2.0","method":"nope","id":1}`),
		"twice":            envelope(`,"auth_token":"`+secret+`"`, request),
		"broken":           `{"auth_token":"` + secret + `",}`,
		"not a string":     `{"auth_token":["` + secret + `"]}`,
		"broken payload":   envelope("", `{"id":"`+secret+`x"`+`,"jsonrpc":"1.0"}`)[:40],
		"an unknown reply": envelope("", `{"jsonrpc":"2.0","result":1,"id":1}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Options{}, wire.CodecOptions{})
			in := one(t, c, frame)
			shown := fmt.Sprintf("%v %s", in.Err, in.Answer)
			if in.Message != nil {
				shown += describe(t, in.Message)
			}
			shown += string(wiretest.Refuse(t, c, in, performatives.CodeInternal))
			if strings.Contains(shown, secret) {
				t.Error(shown)
			}
			if in.Token != "" && in.Token != secret {
				t.Errorf("token %q", in.Token)
			}
		})
	}
}
