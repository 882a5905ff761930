package runtime_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// queryACL sends a QUERY_CAPABILITIES of acl, and returns the act and the text of the answer.
func (p *program) queryACL(id, to, payload string) (act, text string) {
	p.t.Helper()
	p.write(fmt.Sprintf(`{"message_id":%q,"performative":"QUERY_CAPABILITIES","sender":{"agent_id":%q},"receiver":{"agent_id":%q},"timestamp":%q,"payload":%s}`,
		id, p.name, to, time.Now().UTC().Format(time.RFC3339Nano), payload))
	frame := p.frame()
	var got struct {
		Act     string `json:"performative"`
		Payload struct {
			Text string `json:"reason_text"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(frame, &got); err != nil {
		p.t.Fatal(err)
	}
	return got.Act, got.Payload.Text
}

// TestReusedIDInACL sends requests under an id that another one had. A retry has another timestamp.
func TestReusedIDInACL(t *testing.T) {
	h, _ := newStaffedHub(t)
	const summary, detailed = `{"query_type":"summary"}`, `{"query_type":"summary","include_schemas":true}`
	first := h.program("jules")
	for _, c := range []struct {
		p               *program
		id, to, payload string
		conflict        bool
	}{
		{first, "m-1", "system", summary, false},
		{first, "m-1", "system", summary, false},
		{first, "m-1", "system", detailed, true},
		{first, "m-1", "Calc", summary, true},
		{first, "m-2", "system", detailed, false},
		{h.program("eddy"), "m-1", "system", detailed, false},
		{h.program("jules"), "m-1", "system", detailed, true}, // over another connection
	} {
		act, text := c.p.queryACL(c.id, c.to, c.payload)
		if conflict := act == "NOT_UNDERSTOOD" && strings.Contains(text, c.id); conflict != c.conflict || !conflict && act == "NOT_UNDERSTOOD" {
			t.Errorf("%s of %s to %s, %s: %s %s", c.id, c.p.name, c.to, c.payload, act, text)
		}
	}
}

// TestReusedIDInGateway is the same in the dialect gateway, whose clients number their messages per connection.
func TestReusedIDInGateway(t *testing.T) {
	h, _ := newStaffedHub(t)
	call := func(p *program, id string, a int) {
		p.write(fmt.Sprintf(`{"id":"1","timestamp":%q,"source":"cli","mcp_payload":{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"add","arguments":{"a":%d,"b":2}}}}`,
			time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), id, a))
	}
	p := h.program("cli")
	for range 2 {
		call(p, "1", 1)
		if got := p.result("1"); !strings.Contains(got, `{"sum":3}`) {
			t.Errorf("got %s", got)
		}
	}
	call(p, "1", 2)
	if code, wireCode, text := p.fault("1"); code != -32602 || wireCode != "INVALID_REQUEST" || !strings.Contains(text, "id: want an id that no other message has had") {
		t.Errorf("%d %s %s", code, wireCode, text)
	}
	for range 2 { // without an id of its own, no message is a retry
		call(p, "null", 3)
		p.result("null")
	}
	p = h.program("cli")
	call(p, "1", 2)
	if got := p.result("1"); !strings.Contains(got, `{"sum":4}`) {
		t.Errorf("on another connection: %s", got)
	}
}
