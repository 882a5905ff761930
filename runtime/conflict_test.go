package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
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
	const register = `{"query_type":"summary","capabilities":{"topics":["t"]}}`
	first, another, owner, newer := h.program("jules"), h.program("jules"), h.program("tess"), h.program("tess")
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
		{another, "m-1", "system", detailed, false}, // another client
		{another, "m-2", "system", summary, false},
		{owner, "m-0", "system", register, false},
		{owner, "m-1", "system", summary, false},
		{owner, "m-1", "system", detailed, true},
		{newer, "m-9", "system", register, false},
		{newer, "m-1", "system", detailed, true}, // over another connection
		{newer, "m-1", "system", summary, false},
	} {
		act, text := c.p.queryACL(c.id, c.to, c.payload)
		if conflict := act == "NOT_UNDERSTOOD" && strings.Contains(text, c.id); conflict != c.conflict || !conflict && act == "NOT_UNDERSTOOD" {
			t.Errorf("%s of %s to %s, %s: %s %s", c.id, c.p.name, c.to, c.payload, act, text)
		}
	}
}

// TestReusedIDInGateway is the same in the dialect gateway, whose clients number their messages per
// connection.
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

// newCounter returns a worker whose results are the number of its tasks so far. A task "hold"
// begins by a token in began and ends by one in goOn; the result of a task "long" is longer than
// what an agent keeps for duplicates.
func newCounter() (w worker, began, goOn chan struct{}) {
	began, goOn = make(chan struct{}), make(chan struct{})
	var runs atomic.Int64
	return worker{func(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
		r := performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprint("run ", runs.Add(1))}
		switch t.TaskType {
		case "long":
			r.Summary += strings.Repeat(".", 20<<10)
		case "hold":
			began <- struct{}{}
			select {
			case <-goOn:
			case <-ctx.Done():
				return r, ctx.Err()
			}
		}
		return r, nil
	}}, began, goOn
}

// TestRepeatedRequestInGateway sends a request again under its JSON-RPC id, in an envelope of
// another id. It does not run again. A client may use an id again for another request.
func TestRepeatedRequestInGateway(t *testing.T) {
	h := newGatewayHub(t)
	w, began, goOn := newCounter()
	h.spawn("Counter", returning(w))
	p := h.program("cli")
	call := func(id, tool string) {
		t.Helper()
		p.ask(id, "Counter", "tools/call", fmt.Sprintf(`{"name":%q}`, tool))
	}
	ran := func(id, want string) {
		t.Helper()
		if got := p.result(id); !strings.Contains(got, want+`"`) {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
	for _, c := range []struct{ id, tool, want string }{
		{"1", "count", "run 1"},
		{"1", "count", "run 1"},
		{`"1"`, "count", "run 2"},
		{"2", "count", "run 3"},
		{"1", "other", "run 4"},
		{"1", "count", "run 1"},
		{"null", "count", "run 5"},
		{"null", "count", "run 6"},
	} {
		call(c.id, c.tool)
		ran(c.id, c.want)
	}
	p = h.program("cli") // whose numbers start again
	call("1", "count")
	ran("1", "run 7")
	p.name = "other"
	call("1", "count")
	ran("1", "run 8")

	p.name = "cli"
	call("2", "hold") // one that is under way has one answer
	<-began
	call("2", "hold")
	p.send("["+request("2", "tools/call", `{"name":"hold"}`)+"]", `"target_namespace":"Counter",`)
	if e := p.read(); !strings.Contains(string(e.Payload), "-32600") || !strings.Contains(string(e.Payload), "under way") {
		t.Errorf("in a batch: %s", e.Payload)
	}
	goOn <- struct{}{}
	ran("2", "run 9")
	call("2", "hold")
	ran("2", "run 9")

	call("3", "hold") // one that was withdrawn ends again
	<-began
	p.notify("notifications/cancelled", `{"requestId":3}`)
	call("3", "hold")
	if code, _, text := p.fault("3"); code != -32603 {
		t.Errorf("withdrawn: %d %s", code, text)
	}

	call("4", "long")
	p.result("4")
	call("4", "long")
	if code, _, text := p.fault("4"); code != -32600 || !strings.Contains(text, "ended") {
		t.Errorf("whose result is not kept: %d %s", code, text)
	}
}
