package bridge

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// wellFormed has a message of each type, with all members of the text.
var wellFormed = map[string]string{
	"handshake_request": frame("m-1", "handshake_request", "agent-1", "agent-2", "",
		`{"agent_id":"agent-1","agent_name":"n","agent_role":"r","tools":["t"],"version":"0.1.0","metadata":{"a":"b"},"topics":["x"],"ontologies":["o"],"tool_details":{"t":{"description":"d"}}}`),
	"handshake_response": strings.TrimSuffix(frame("m-1", "handshake_response", "agent-1", "Eddy", "ask-1",
		`{"agent_id":"agent-1","agent_name":"n","agent_role":"r","tools":["t"],"version":"0.1.0","metadata":{"a":"b"},"accepted":true}`), "}") + `,"accepted":true}`,
	"request":      frame("m-1", "request", "agent-1", "agent-2", "", `{"tool_name":"t","arguments":{"a":1},"timeout":30,"task_description":"d"}`),
	"response":     frame("m-1", "response", "agent-1", "Eddy", "ask-1", `{"success":true,"result":{"a":1},"execution_time":0.5,"error":"e","task_status":"success","summary":"s","artifacts":[{"type":"file"}]}`),
	"notification": frame("m-1", "notification", "agent-1", "agent-2", "", `{"event_type":"e","data":{"a":1}}`),
	"error":        frame("m-1", "error", "agent-1", "Eddy", "ask-1", `{"error_code":"TIMEOUT","error_message":"m","error_type":"t","details":{"a":1}}`),
}

// requiredMembers returns the members that must be there after the addenda, by the type of the
// message.
func requiredMembers(t *testing.T) (required map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/required.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &required); err != nil || len(required) != len(wellFormed) {
		t.Fatalf("%v in %s", err, text)
	}
	return required
}

// anything are the members that may have any value.
var anything = map[string]bool{"payload.result": true}

// kinds has a value of each kind of JSON. A null stands for an absent member.
var kinds = map[byte]string{'"': `"x y"`, '{': `{"k":"v"}`, '[': `[1]`, 't': `true`, '1': `12`}

func kindByte(v any) byte {
	switch v.(type) {
	case string:
		return '"'
	case map[string]any:
		return '{'
	case []any:
		return '['
	case bool:
		return 't'
	}
	return '1'
}

// changed returns the message with the member at path changed by f.
func changed(t *testing.T, text, path string, f func(object map[string]any, name string)) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	object, name := m, path
	if of, rest, ok := strings.Cut(path, "."); ok {
		object, name = m[of].(map[string]any), rest
	}
	f(object, name)
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// checkFault checks that a session refuses a frame, names the member to the peer, and goes on.
func checkFault(t *testing.T, kind, field, text string) {
	t.Helper()
	p := greeted(t, wire.CodecOptions{Local: "node"})
	in := p.one(text)
	if in.Err == nil || in.Message != nil || in.Err.Field != field {
		t.Errorf("%s without a valid %s: %v %v", kind, field, in.Err, in.Message)
		return
	}
	if ErrorCodes.Of(in.Err.Code) != codeInvalidArguments || !strings.HasPrefix(in.Err.Text, field) {
		t.Errorf("%s without a valid %s: %v", kind, field, in.Err)
	}
	switch legible := kind != kindError || field == "message_type"; {
	case !legible && in.Answer != nil:
		t.Errorf("an error is answered: %s", in.Answer)
	case legible:
		checkAnswer(t, read(t, string(in.Answer)), field)
	}
	p.message(frame("m-2", "notification", "agent-1", "agent-2", "", `{"event_type":"e"}`))
}

func checkAnswer(t *testing.T, got written, field string) {
	t.Helper()
	about, to := "m-1", "agent-1"
	if field == "message_id" {
		about = ""
	}
	if field == "sender_id" {
		to = ""
	}
	if got.Type != "error" || got.Correlation != about || got.Receiver != to || got.Sender == "" || got.Payload["error_code"] != codeInvalidArguments || got.details()["field"] != field {
		t.Errorf("the peer is told %+v about %s", got, field)
	}
}

// Each message without one of the members that it must have is refused.
func TestRequiredMembers(t *testing.T) {
	for kind, paths := range requiredMembers(t) {
		for _, path := range paths {
			checkFault(t, kind, path, changed(t, wellFormed[kind], path, func(o map[string]any, name string) { delete(o, name) }))
			if path != "receiver_id" { // null is a value of it
				checkFault(t, kind, path, changed(t, wellFormed[kind], path, func(o map[string]any, name string) { o[name] = nil }))
			}
		}
	}
}

// Each message without one of the other members is accepted.
func TestOptionalMembers(t *testing.T) {
	c, required := newCodec(t, wire.CodecOptions{}), requiredMembers(t)
	for kind, text := range wellFormed {
		for path := range members(t, text) {
			without := changed(t, text, path, func(o map[string]any, name string) { delete(o, name) })
			_, err := c.Decode([]byte(without))
			must := false
			for _, r := range required[kind] {
				must = must || r == path
			}
			if (err != nil) != must {
				t.Errorf("%s without %s: %v", kind, path, err)
			}
		}
	}
}

// Each message with a member of the wrong kind is refused.
func TestWrongKinds(t *testing.T) {
	for kind, text := range wellFormed {
		for path, value := range members(t, text) {
			for begins, other := range kinds {
				if anything[path] || begins == kindByte(value) || path == "payload.task_status" {
					continue
				}
				wrong := changed(t, text, path, func(o map[string]any, name string) { o[name] = json.RawMessage(other) })
				checkFault(t, kind, path, wrong)
			}
		}
	}
}

// members has the members of a message and of its payload, by path.
func members(t *testing.T, text string) map[string]any {
	t.Helper()
	out := decoded(t, []byte(text)).(map[string]any)
	for name, v := range out["payload"].(map[string]any) {
		out["payload."+name] = v
	}
	for path, v := range out {
		if v == nil {
			delete(out, path)
		}
	}
	return out
}

// A timeout is a number of seconds above 0 and of at most 9e9; anything else is named with what came.
func TestTimeouts(t *testing.T) {
	for timeout, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0.5": time.Second / 2, "1e-9": 1, "0.0000000015": 2, "9e9": 9e9 * time.Second,
		"8999999999.5": 8_999_999_999*time.Second + time.Second/2, "null": -1, // none
	} {
		p := greeted(t, wire.CodecOptions{Local: "node", Stamper: &clock{}})
		m := p.message(frame("m-1", "request", "agent-1", "agent-2", "", `{"tool_name":"t","timeout":`+timeout+`}`)).Message
		if by := m.ReplyBy(); by.IsZero() != (want < 0) || want >= 0 && by.Sub(arrival) != want {
			t.Errorf("%s is read as %v", timeout, by.Sub(arrival))
		}
	}
	for timeout, got := range map[string]string{
		"0": "0", "-1": "-1", "9000000001": "9000000001", "1e400": "1e400", `"30"`: `"30"`, "[1]": "[1]", "true": "true", "{}": "{}",
	} {
		p := greeted(t, wire.CodecOptions{Local: "node"})
		in := p.one(frame("m-1", "request", "agent-1", "agent-2", "", `{"tool_name":"t","timeout":`+timeout+`}`))
		if in.Err == nil || in.Err.Field != "payload.timeout" || !strings.HasSuffix(in.Err.Text, "of at most 9000000000, got "+got) || in.Message != nil {
			t.Errorf("%s is read: %+v", timeout, in.Err)
		}
	}
}
