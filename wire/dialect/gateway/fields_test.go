package gateway

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
)

// memberRule is what a member of a frame must be.
type memberRule struct {
	kinds   string // the first characters of its kinds of JSON
	example string // its value where the example has none; empty = the example is as it is
	code    int    // of JSON-RPC
}

// envelopeRules has the members of each frame, and paramRules those of the params by the method.
var (
	envelopeRules = map[string]memberRule{
		"id":                  {kinds: `"1n`, code: -32600},
		"timestamp":           {kinds: `"`, code: -32600},
		"source":              {kinds: `"`, code: -32600},
		"target_namespace":    {kinds: `"n`, example: `"tools"`, code: -32600},
		"auth_token":          {kinds: `"n`, code: -32600},
		"correlation_id":      {kinds: `"n`, example: `"c"`, code: -32600},
		"metadata":            {kinds: `{n`, example: `{}`, code: -32600},
		"metadata.timeout_ms": {kinds: `1n`, example: `500`, code: -32602},
		"metadata.priority":   {kinds: `"1n`, example: `"high"`, code: -32602},
		"mcp_payload":         {kinds: `{[`, code: -32600},
		"mcp_payload.jsonrpc": {kinds: `"`, code: -32600},
		"mcp_payload.method":  {kinds: `"`, code: -32600},
		"mcp_payload.id":      {kinds: `"1n`, code: -32600},
		"mcp_payload.params":  {kinds: `{[n`, code: -32600},
	}
	paramRules = map[string]map[string]memberRule{
		methodCall: {
			"mcp_payload.params.name":               {kinds: `"`, code: -32602},
			"mcp_payload.params.arguments":          {kinds: `{n`, code: -32602},
			"mcp_payload.params.task_description":   {kinds: `"n`, example: `"d"`, code: -32602},
			"mcp_payload.params._meta":              {kinds: `{n`, example: `{"progressToken":1}`, code: -32602},
			"mcp_payload.params._meta.message_type": {kinds: `"n`, example: `"REVIEW"`, code: -32602},
		},
		methodList: {
			"mcp_payload.params.cursor": {kinds: `"n`, example: `""`, code: -32602},
			"mcp_payload.params._meta":  {kinds: `{n`, example: `{}`, code: -32602},
		},
		methodInitialize: {
			"mcp_payload.params.protocolVersion":     {kinds: `"n`, code: -32602},
			"mcp_payload.params.supportedVersions":   {kinds: `[n`, code: -32602},
			"mcp_payload.params.capabilities":        {kinds: `{n`, example: `{}`, code: -32602},
			"mcp_payload.params.capabilities.topics": {kinds: `[n`, example: `["x"]`, code: -32602},
			"mcp_payload.params.capabilities.tools":  {kinds: `[{tn`, example: `true`, code: -32602},
		},
	}
)

// kindsOfJSON has a value of each kind. A null that is refused is tested as one.
var kindsOfJSON = map[byte]string{'"': `"x y"`, '{': `{"k":"v"}`, '[': `[1]`, 't': `true`, '1': `12`, 'n': `null`}

// put returns a frame with a member changed: another value, or none where value is empty.
func put(t *testing.T, frame any, path, value string) any {
	t.Helper()
	object, ok := frame.(map[string]any)
	if !ok && frame != nil {
		t.Fatalf("no member %s in %v", path, frame)
	}
	out := maps.Clone(object)
	if out == nil {
		out = make(map[string]any)
	}
	name, rest, deeper := strings.Cut(path, ".")
	switch {
	case deeper:
		out[name] = put(t, out[name], rest, value)
	case value == "":
		delete(out, name)
	default:
		out[name] = json.RawMessage(value)
		if json.Unmarshal([]byte(value), new(map[string]any)) == nil {
			out[name] = decoded(t, []byte(value))
		}
	}
	return out
}

func has(frame any, path string) bool {
	object, _ := frame.(map[string]any)
	name, rest, deeper := strings.Cut(path, ".")
	v, ok := object[name]
	return ok && (!deeper || has(v, rest))
}

// Each example without a member that testdata/required.json requires after the addenda, or with a
// member of a wrong kind, is refused with the code of its place and the name of the member, and the
// session goes on.
func TestMembers(t *testing.T) {
	text, err := os.ReadFile("testdata/required.json")
	if err != nil {
		t.Fatal(err)
	}
	var required map[string][]string // by method, or "*" for each
	if err := json.Unmarshal(text, &required); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, v := range vectors(t) {
		if !v.Valid {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			frame := decoded(t, v.Message)
			method := frame.(map[string]any)["mcp_payload"].(map[string]any)["method"].(string)
			rules := maps.Clone(envelopeRules)
			maps.Copy(rules, paramRules[method])
			for _, path := range slices.Sorted(maps.Keys(rules)) {
				if r := rules[path]; r.example != "" && !has(frame, path) {
					frame = put(t, frame, path, r.example)
				}
			}
			c := open(t, Options{}, wire.CodecOptions{})
			for path, r := range rules {
				if slices.Contains(required["*"], path) || slices.Contains(required[method], path) {
					refused++
					checkRefused(t, c, put(t, frame, path, ""), path, r)
				}
				if !has(frame, path) {
					continue
				}
				switch in := one(t, open(t, Options{}, wire.CodecOptions{}), marshalledFrame(t, put(t, frame, path, ""))); {
				case slices.Contains(required["*"], path), slices.Contains(required[method], path):
				case path == "mcp_payload.params": // what is required is in it
				case in.Err != nil:
					t.Errorf("without %s it is refused: %v", path, in.Err)
				}
				for kind, value := range kindsOfJSON {
					if !strings.ContainsRune(r.kinds, rune(kind)) {
						refused++
						checkRefused(t, c, put(t, frame, path, value), path, r)
					}
				}
			}
			if in := one(t, open(t, Options{}, wire.CodecOptions{}), marshalledFrame(t, frame)); in.Err != nil {
				t.Errorf("the example with all members is refused: %v", in.Err)
			}
		})
	}
	if refused < 300 {
		t.Errorf("only %d frames were refused", refused)
	}
}

func marshalledFrame(t *testing.T, frame any) string {
	t.Helper()
	text, err := json.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkRefused checks the answer to a frame with that member missing or wrong, and that the next
// frame is served.
func checkRefused(t *testing.T, c *codec, frame any, path string, rule memberRule) {
	t.Helper()
	text := marshalledFrame(t, frame)
	in := one(t, c, text)
	field := path
	if path == "mcp_payload.method" && !has(frame, path) {
		field = "mcp_payload" // neither a request nor an answer
	}
	if in.Err == nil || in.Message != nil || in.Err.Field != field {
		t.Errorf("%s is refused by %v, want one that names %s", text, in.Err, field)
		return
	}
	if has(frame, "mcp_payload") && !has(frame, "mcp_payload.id") && !strings.HasPrefix(path, "mcp_payload") {
		if len(in.Answer) > 0 {
			t.Errorf("the notification %s is answered by %s", text, in.Answer)
		}
	} else if r := parse(t, in.Answer); r.Error == nil || r.Error.Code != "INVALID_REQUEST" || r.Payload.Error == nil || r.Payload.Error.Code != rule.code ||
		!strings.Contains(string(r.Payload.Error.Data), `"field":"`+field+`"`) {
		t.Errorf("%s is answered by %s, want the code %d", text, in.Answer, rule.code)
	}
	if in := one(t, c, `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"p","mcp_payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`); in.Err != nil || len(in.Answer) == 0 {
		t.Errorf("after %s the session does not go on: %v", text, in.Err)
	}
}
