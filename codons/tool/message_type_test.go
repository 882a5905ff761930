package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// What does not fit the schema is refused with the place in the payload, and what fits is kept as
// it is.
func TestRegisterMessageType(t *testing.T) {
	var r p.Registry
	schema := json.RawMessage(`{"type":["object"],"required":["who"],"additionalProperties":false,"properties":{
		"who":{"type":"string"},"parts":{"type":"array","items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}}`)
	if err := tool.RegisterMessageType(&r, "ORDER", p.ActRequest, schema); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{ // field and reason
		`{"who":"Ana","parts":[{"n":12345678901234567890}]}`: "",
		`{}`:                                 "payload.who: this member is required",
		``:                                   "payload.who: this member is required",
		`[]`:                                 "payload: want an object, got an array",
		`{"who":1}`:                          "payload.who: ",
		`{"who":"Ana","zip":1}`:              "payload.zip: there is no such member",
		`{"who":"Ana","parts":[{"n":1},{}]}`: "payload.parts[1].n: this member is required",
	} {
		got, err := r.DecodeTyped(p.ActRequest, "ORDER", "", json.RawMessage(in))
		if want == "" {
			if raw, ok := got.(p.Raw); err != nil || !ok || string(raw) != in {
				t.Errorf("%s: %v, %v", in, got, err)
			}
			continue
		}
		refusal := p.RefusalOf(err)
		field, _, _ := strings.Cut(want, ": ")
		if refusal == nil || refusal.Code != p.CodeInvalidPayload || refusal.Field != field || !strings.HasPrefix(refusal.Text, want) {
			t.Errorf("%s: %+v, want %s", in, refusal, want)
		}
	}
}

func TestRegisterMessageTypeFails(t *testing.T) {
	var r p.Registry
	any := json.RawMessage(`{}`)
	if err := tool.RegisterMessageType(&r, "TAKEN", p.ActRequest, any); err != nil {
		t.Fatal(err)
	}
	if err := tool.RegisterMessageType(&r, "TAKEN", p.ActRequest, any); !errors.Is(err, p.ErrRegistered) {
		t.Errorf("registered twice: %v", err)
	}
	for schema, want := range map[string]string{
		"":                                      "schema of X: ",
		"[]":                                    "schema of X: ",
		`{"type":7}`:                            "schema of X: ",
		`{"type":"objekt"}`:                     "want one of an object",
		`{"type":"array"}`:                      "want one of an object",
		`{"type":["string","null"]}`:            "want one of an object",
		`{"$ref":"https://example.org/x.json"}`: "schema of X: ",
		`{"pattern":"("}`:                       "schema of X: ",
		`{"title":"` + strings.Repeat("x", tool.MaxSchema) + `"}`: "at most 65536",
	} {
		if err := tool.RegisterMessageType(&r, "X", p.ActRequest, json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", schema, err, want)
		}
	}
	if err := tool.RegisterMessageType(&r, "two words", p.ActRequest, any); p.RefusalOf(err) == nil {
		t.Errorf("a name that is none: %v", err)
	}
	if err := tool.RegisterMessageType(&r, "X", 0, any); err == nil {
		t.Error("registered without an act")
	}
}
