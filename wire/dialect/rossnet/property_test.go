package rossnet

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

var (
	word     = rapid.StringMatching(`[A-Za-z0-9_:/.äß "\\<>-]{1,20}`)
	values   = rapid.SampledFrom([]string{`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, `true`, `-0`, `1E400`, `"REQUEST"`, `"TASK_REJECT"`, `"FAILURE"`, `"TASK_ASSIGN"`, `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`})
	keys     = rapid.OneOf(rapid.StringMatching(`x[a-z"é.]{1,8}`), rapid.SampledFrom([]string{"protocol", "trace", "budget", "performative", "message_type", "header.x", "envelope.x", "task_metadata.x"}))
	anything = rapid.MapOfN(keys, values, 0, 5)
)

// required has valid values of the members that a payload must have.
var required = map[string]map[string]string{
	kindAssign:      {"subtask_id": `"s"`, "task_name": `"t"`, "input_data": `{"n":1.10}`},
	kindAcknowledge: {"subtask_id": `"s"`, "status": `"REJECTED"`},
	kindStatus:      {"subtask_id": `"s"`, "progress_percentage": `40.10`, "status_description": `""`},
	kindComplete:    {"subtask_id": `"s"`, "output_data": `{"n":1E400}`},
	kindFail:        {"subtask_id": `"s"`, "error_code": `"E006"`, "error_message": `"m"`, "is_retryable": `false`},
	kindRegister:    {"agent_id": `"Anna"`, "agent_type": `"a"`, "status": `"degraded"`, "capabilities": `["a",{"name":"b","x":1.0}]`},
	kindQuery:       {"query_by_id": `"x"`},
	kindResponse:    {"query": `{}`, "results": `[{"agent_id":"x"}]`},
	kindAck:         {"status": `"registered"`, "agent_id": `"x"`},
	kindError:       {"error_code": `"OWN"`, "error_message": `""`},
	"CANCEL":        {},
	"REQUEST":       {},
}

func drawn(t *rapid.T, label string, more map[string]string) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	for name, v := range anything.Draw(t, label) {
		all[name] = json.RawMessage(v)
	}
	for name, v := range more {
		all[name] = json.RawMessage(v)
	}
	return all
}

// A message of the peer that is read is written again as it came, whatever it has beside what the
// text names.
func TestDecodeEncodeIsTheIdentity(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(required))).Draw(t, "type")
		header := drawn(t, "header", map[string]string{"sender_id": `"Anna"`, "version": `"1.2"`})
		for _, name := range []string{"protocol", "trace", "budget", "performative"} {
			delete(header, name)
		}
		header[headerNames[memKind]] = exchange.Quoted(kind)
		to := exchange.Quoted(word.Draw(t, "recipient"))
		header[rapid.SampledFrom([]string(headerNames[memRecipient:memService+1])).Draw(t, "form")] = to
		if rapid.Bool().Draw(t, "null") {
			if _, used := header[headerNames[memService]]; !used && header[headerNames[memAgent]] != nil {
				header[headerNames[memService]] = json.RawMessage("null")
			}
		}
		header[headerNames[memTimestamp]] = exchange.Quoted(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), 5e8).UTC().Format(time.RFC3339Nano))
		for name, v := range map[string]string{"message_id": `"m"`, "correlation_id": `"c"`, "auth_token": `null`} {
			if delete(header, name); rapid.Bool().Draw(t, name) {
				header[name] = json.RawMessage(v)
			}
		}
		if rapid.Bool().Draw(t, "with metadata") {
			header[headerNames[memTask]] = marshalled(drawn(t, "metadata", map[string]string{"priority": `5`, "task_id": `null`}))
		}
		frame := drawn(t, "envelope", nil)
		frame[memHeader], frame[memPayload] = marshalled(header), marshalled(drawn(t, "payload", required[kind]))
		data := marshalled(frame)
		c := openCodec()
		var m *performatives.Message
		for _, in := range c.items(string(data)) {
			if in.Err != nil {
				if header[headerNames[memTask]] == nil {
					t.Fatalf("%v: %s", in.Err, data)
				}
				t.Skip() // metadata that contradicts the type
			}
			m = in.Message
		}
		out, err := wiretest.Encode(t, c, m)
		if err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if diff := cmp.Diff(exact(t, data), exact(t, out)); diff != "" {
			t.Fatalf("-came +went:\n%s\n%s", diff, data)
		}
		// Without its shape, as after the way through another node, it is still a message of the
		// same meaning.
		plain, err := m.With(func(e *performatives.Envelope) { e.Shape = nil })
		if err != nil {
			t.Fatal(err)
		}
		if out, err = wiretest.Encode(t, openCodec(), plain); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		again := openCodec().items(string(out))
		if len(again) != 1 || again[0].Message == nil || again[0].Message.Performative() != m.Performative() || again[0].Message.ID() != m.ID() {
			t.Fatalf("%+v of %s", again, out)
		}
		read++
	})
	if read == 0 {
		t.Error("no message was read")
	}
}

func marshalled(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func openCodec() *codec {
	c, err := Dialect{}.Open(codecOptions())
	if err != nil {
		panic(err)
	}
	return c.(*codec)
}
