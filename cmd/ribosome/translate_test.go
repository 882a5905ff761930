package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
)

const (
	aclRequest = `{"mcp_version":"0.1.0","message_id":"m-1","performative":"TASK_REQUEST","sender":{"agent_id":"Eddy"},"receiver":{"agent_id":"Jules"},
  "reply_with":"r-1","conversation_id":"c-1","protocol":"task-delegation","reply_by":"2100-01-01T00:00:00Z","language":"application/json",
  "ontology":"o","timestamp":"2026-11-21T14:55:11.079Z","x_tenant":"t",
  "payload":{"priority":"high","task_type":"rerank","task_description":"Rank them.","task_parameters":{"n":12345678901234567890}}}`
	aclResult  = `{"mcp_version":"0.1.0","message_id":"m-2","performative":"INFORM_RESULT","sender":{"agent_id":"Jules"},"receiver":{"agent_id":"Eddy"},"in_reply_to":"r-1","conversation_id":"c-1","language":"application/json","timestamp":"2026-11-21T14:55:12Z","payload":{"task_status":"success","result_details":{"order":[2,1]}}}`
	ragRequest = `{"type":"RETRIEVAL_REQUEST","sender":"System","receiver":"RetrievalAgent","trace_id":"ret-c-002","timestamp":"2025-01-30T10:31:00Z","payload":{"query":"KPIs?","top_k":5}}`
	ragResult  = `{"type":"RETRIEVAL_RESULT","sender":"RetrievalAgent","receiver":"System","trace_id":"ret-c-002","timestamp":"2025-01-30T10:31:00Z","payload":{"retrieved_chunks":[]}}`
)

const (
	rossNetAssign = `{"mcp_header":{"message_id":"m-1","correlation_id":"c-1","sender_id":"Controller","recipient_id":"Jules","timestamp":"2025-01-30T10:30:00Z","version":"1.0",` +
		`"message_type":"TASK_ASSIGN","auth_token":null,"task_metadata":{"priority":5}},"payload":{"subtask_id":"s-1","task_name":"rerank","input_data":{"n":1.10}}}`
	rossNetDone = `{"mcp_header":{"message_id":"m-2","correlation_id":"c-1","sender_id":"Jules","recipient_id":"Controller","timestamp":"2025-01-30T10:30:00Z","version":"1.0",` +
		`"message_type":"TASK_COMPLETE","auth_token":null},"payload":{"subtask_id":"s-1","output_data":{"n":2}}}`
)

const (
	gatewayCall   = `{"id":"e-1","timestamp":"2025-01-30T10:30:00.000Z","source":"crm","target_namespace":"Jules","mcp_payload":` + bareCall + `}`
	gatewayResult = `{"id":"e-2","timestamp":"2025-01-30T10:30:01.000Z","source":"Jules","correlation_id":"e-1","mcp_payload":` + bareResult + `}`
	gatewayError  = `{"id":"e-3","timestamp":"2025-01-30T10:30:01.000Z","source":"Jules","mcp_payload":{"jsonrpc":"2.0","id":"7","error":{"code":-32603,"message":"bad"}}}`
	bareCall      = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rerank","arguments":{"n":1}}}`
	bareResult    = `{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"n":1.10}}}`
)

const bridgeRequest = `{"message_id":"m-1","message_type":"request","sender_id":"painter","receiver_id":"Calc","timestamp":"2025-01-30T10:30:00Z",` +
	`"correlation_id":null,"priority":"normal","payload":{"tool_name":"add","arguments":{"a":1}}}`

// valueIn returns the text of a value in the lines of JSON.
func valueIn(t *testing.T, lines string, line int, path string) string {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
	if len(all) <= line {
		t.Fatalf("want line %d of %q", line, lines)
	}
	var v any = json.RawMessage(all[line])
	for _, name := range strings.Split(path, ".") {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(v.(json.RawMessage), &object); err != nil {
			t.Fatalf("%s of %s: %v", path, all[line], err)
		}
		v = object[name]
	}
	return string(v.(json.RawMessage))
}

func TestTranslate(t *testing.T) {
	for _, tt := range []struct {
		name, from, to, stdin string
		want                  []map[string]string // by line of stdout
		notes                 string
	}{
		{"acl to gateway", "acl", "gateway", aclRequest, []map[string]string{{
			"source": `"Eddy"`, "target_namespace": `"Jules"`, "mcp_payload.method": `"tools/call"`, "mcp_payload.params.name": `"rerank"`,
			"mcp_payload.params.arguments": `{"n":12345678901234567890}`, "metadata.priority": `"high"`, "metadata.x_tenant": `"t"`,
		}}, "message_id conversation_id protocol reply_with ontology"},
		{"acl to rag", "acl", "rag", aclRequest, []map[string]string{{
			"type": `"RERANK"`, "sender": `"Eddy"`, "trace_id": `"ret-c-1-001"`, "payload": `{"n":12345678901234567890}`,
			"metadata": `{"priority":"high","protocol":"task-delegation","task_request":{"task_description":"Rank them."},"x_tenant":"t"}`,
		}}, "message_id reply_with reply_by ontology"},
		{"acl to bridge", "acl", "bridge", aclRequest, []map[string]string{{
			"message_type": `"request"`, "payload.tool_name": `"rerank"`, "payload.arguments": `{"n":12345678901234567890}`,
		}}, "reply_with ontology"},
		{"bridge to acl", "bridge", "acl", bridgeRequest, []map[string]string{{
			"performative": `"TASK_REQUEST"`, "payload.task_type": `"add"`, "payload.task_parameters": `{"a":1}`,
		}}, ""},
		{"gateway, with its responses", "gateway", "acl", gatewayCall + "\n" + strings.Replace(gatewayCall, `"id":7`, `"id":"7"`, 1) + "\n" + gatewayError + "\n" + gatewayResult, []map[string]string{
			{"performative": `"TASK_REQUEST"`, "payload.task_type": `"rerank"`},
			{"performative": `"TASK_REQUEST"`},
			{"performative": `"FAILURE"`, "payload.error_text": `"bad"`, "sender": `{"agent_id":"Jules"}`},
			{"performative": `"INFORM_RESULT"`, "payload.result_details": `{"n":1.10}`},
		}, ""},
		{"without envelopes", "gateway", "rag", bareCall + "\n" + bareResult, []map[string]string{
			{"type": `"RERANK"`}, {"type": `"RERANK_RESULT"`, "payload": `{"n":1.10}`, "sender": `"System"`},
		}, "reply_by; "},
		{"acl to acl", "acl", "acl", aclRequest, []map[string]string{{"payload.priority": `"high"`, "reply_with": `"r-1"`}}, ""},
		{"a request and its result", "acl", "rag", aclRequest + "\n" + aclResult, []map[string]string{
			{"trace_id": `"ret-c-1-001"`}, {"type": `"RERANK_RESULT"`, "trace_id": `"ret-c-1-001"`, "payload": `{"order":[2,1]}`},
		}, "message_id reply_with reply_by ontology; message_id"},
		{"rag to acl", "rag", "acl", ragRequest + "\n" + ragResult, []map[string]string{
			{"performative": `"TASK_REQUEST"`, "conversation_id": `"c"`, "payload.task_type": `"retrieval_request"`, "payload.task_parameters": `{"query":"KPIs?","top_k":5}`},
			{"performative": `"INFORM_RESULT"`, "payload.result_details": `{"retrieved_chunks":[]}`},
		}, ""},
		{"rossnet to acl", "rossnet", "acl", rossNetAssign + "\n" + rossNetDone, []map[string]string{
			{"performative": `"TASK_REQUEST"`, "payload.task_type": `"rerank"`, "payload.task_parameters": `{"n":1.10}`, "payload.subtask_id": `"s-1"`},
			{"performative": `"INFORM_RESULT"`, "payload.result_details": `{"n":2}`},
		}, ""},
		{"acl to rossnet", "acl", "rossnet", aclRequest + "\n" + aclResult, []map[string]string{
			{"mcp_header.message_type": `"TASK_ASSIGN"`, "payload.task_name": `"rerank"`, "payload.input_data": `{"n":12345678901234567890}`, "payload.deadline": `"2100-01-01T00:00:00Z"`},
			{"mcp_header.message_type": `"TASK_COMPLETE"`, "payload.output_data": `{"order":[2,1]}`},
		}, "reply_with ontology"},
		{"rag to gateway", "rag", "gateway", ragRequest, []map[string]string{{"mcp_payload.params.name": `"retrieval_request"`}}, "conversation_id"},
		{"a message without an id", "rag", "rag", ragRequest, []map[string]string{{"trace_id": `"ret-c-002"`, "payload": `{"query":"KPIs?","top_k":5}`}}, ""},
		{"a message with an id", "bridge", "rag", bridgeRequest, []map[string]string{{"type": `"ADD"`}}, "message_id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runsWith(t.Context(), tt.stdin, "translate", "--from", tt.from, "--to", tt.to)
			if r.code != exitDone {
				t.Fatalf("%+v", r)
			}
			for i, want := range tt.want {
				for path, text := range want {
					if got := valueIn(t, r.stdout, i, path); got != text {
						t.Errorf("%s of message %d is %s, want %s", path, i+1, got, text)
					}
				}
			}
			if n := strings.Count(r.stdout, "\n"); n != len(tt.want) {
				t.Errorf("%d lines: %s", n, r.stdout)
			}
			var notes []string
			for i, names := range strings.Split(tt.notes, ";") {
				for _, name := range strings.Fields(names) {
					notes = append(notes, "message "+string(rune('1'+i))+": "+name+" cannot be expressed in "+tt.to)
				}
			}
			got := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
			slices.Sort(notes)
			slices.Sort(got)
			if strings.Join(got, "\n") != strings.Join(notes, "\n") {
				t.Errorf("stderr:\n%s\nwant\n%s", r.stderr, strings.Join(notes, "\n"))
			}
		})
	}
}

// slowCodec is a codec of a machine that is busy after each frame that it has written.
type slowCodec struct{ wire.Codec }

func (c slowCodec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	defer time.Sleep(time.Minute)
	return c.Codec.Encode(dst, m)
}

// A deadline that is written as the time that is left is not lost on a busy machine.
func TestTranslateSlowly(t *testing.T) {
	soon := strings.Replace(aclRequest, "2100-", "2050-", 1) // a bubble's clock begins in 2000, and gateway bounds a deadline to 100 years
	for _, to := range []string{"bridge", "gateway"} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Second / 3) // so that the whole seconds that are left end after the deadline
			tr, err := newTranslation("acl", to)
			if err != nil {
				t.Fatal(err)
			}
			tr.asks = slowCodec{tr.asks}
			if r := tr.translate([]byte(soon)); len(r.frame) == 0 || strings.Contains(strings.Join(r.notes, " "), "reply_by") {
				t.Errorf("%s: %s, %q", to, r.frame, r.notes)
			}
			time.Sleep(time.Minute)
			arrived := time.Now()
			if tr.translate([]byte(soon)); !tr.clock.Stamp().Time.Equal(arrived) {
				t.Errorf("%s: the next frame has the time %v, and came at %v", to, tr.clock.now, arrived)
			}
		})
	}
}

// A refusal is in the words of the dialect of the message, and the other messages are translated
// all the same.
func TestTranslateRefused(t *testing.T) {
	for _, tt := range []struct{ name, from, to, stdin, word, text string }{
		{
			"rag", "rag", "acl", `{"type":"RETRIEVAL_REQUEST","sender":"A","receiver":"B","trace_id":"t","timestamp":"2025-01-30T10:31:00Z","payload":{}}`,
			`"error_code":"INVALID_MESSAGE"`, "message 1: rag refuses it: payload.query: want a non-empty string",
		},
		{
			"acl", "acl", "rag", `{"message_id":"x","performative":"DANCE","sender":{"agent_id":"A"},"receiver":{"agent_id":"B"},"timestamp":"2025-01-30T10:31:00Z","payload":{}}`,
			`"reason_code":"unknown_performative"`, "message 1: acl refuses it: performative",
		},
		{
			"gateway", "gateway", "acl", `{"id":"1","timestamp":"2025-01-30T10:31:00Z","source":"a","mcp_payload":{"jsonrpc":"2.0","id":1,"method":"dance"}}`,
			`"code":-32601`, "message 1: gateway refuses it: ",
		},
		{"no JSON", "rag", "acl", `what?`, `"error_code":"INVALID_MESSAGE"`, "message 1: rag refuses it: at byte 0"},
		{"no end", "rag", "acl", "{\"type\":\n\"X\",\n", `"error_code":"INVALID_MESSAGE"`, "message 1: rag refuses it: at byte "},
		{"inexpressible", "acl", "rag", strings.Replace(strings.ReplaceAll(aclRequest, "rerank", "retrieval_request"), "x_tenant", "y", 1), "", "message 1: rag cannot express it: payload.query: want a non-empty string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := map[string]string{"acl": aclResult, "rag": ragRequest, "gateway": `{"id":"2","timestamp":"2025-01-30T10:31:00Z","source":"a","mcp_payload":{"jsonrpc":"2.0","id":2,"method":"a.b","params":{}}}`}[tt.from]
			stdin := tt.stdin
			want := 0
			if tt.name != "no end" {
				stdin, want = stdin+"\n"+good, 1
			}
			r := runsWith(t.Context(), stdin, "translate", "--from", tt.from, "--to", tt.to)
			if r.code != exitFailed || !strings.Contains(r.stderr, tt.word) || !strings.HasPrefix(r.stderr, tt.text) {
				t.Errorf("%+v", r)
			}
			if n := strings.Count(r.stdout, "\n"); n != want {
				t.Errorf("%d lines: %s", n, r.stdout)
			}
			if total := map[int]string{0: "1 of 1", 1: "1 of 2"}[want]; !strings.HasSuffix(r.stderr, "ribosome: "+total+" messages were refused\n") {
				t.Errorf("%s", r.stderr)
			}
		})
	}
}

func TestTranslateSaysWhatIsNoMessage(t *testing.T) {
	accept := strings.Replace(aclResult, `"INFORM_RESULT"`, `"TASK_ACCEPT"`, 1)
	accept = accept[:strings.Index(accept, `"payload"`)] + `"payload":{}}`
	r := runsWith(t.Context(), accept, "translate", "--from", "acl", "--to", "rag")
	if r.code != exitNothing || r.stdout != "" || r.stderr != "message 1: rag has no form for TASK_ACCEPT here\nribosome: nothing is left to write in rag\n" {
		t.Errorf("%+v", r)
	}
	ping := `{"id":"1","timestamp":"2025-01-30T10:31:00Z","source":"a","mcp_payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`
	r = runsWith(t.Context(), ping, "translate", "--from", "gateway", "--to", "acl")
	if r.code != exitNothing || r.stdout != "" || r.stderr != "message 1: gateway itself answers it; no agent gets it\nribosome: nothing is left to write in acl\n" {
		t.Errorf("%+v", r)
	}
}

func TestTranslateUsage(t *testing.T) {
	for line, args := range map[string][]string{
		`--from latin: there is no such dialect; want one of gateway, bridge, acl, rag, rossnet`: {"--from", "latin", "--to", "acl"},
		`--to latin: there is no such dialect; want one of gateway, bridge, acl, rag, rossnet`:   {"--from", "acl", "--to", "latin"},
		`nothing on stdin; give messages, such as < message.json`:                                {"--from", "acl", "--to", "rag"},
	} {
		r := runsWith(t.Context(), " \n", append([]string{"translate"}, args...)...)
		if r.code != exitUsage || r.stderr != "ribosome: "+line+"\n" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// The node speaks all dialects, and none of them claims the messages of another.
func TestDialects(t *testing.T) {
	all := dialects(gateway.Options{})
	for name, frame := range map[string]string{
		"acl": aclResult, "rag": ragRequest, "gateway": `{"id":"1","timestamp":"2025-01-30T10:31:00Z","source":"a","mcp_payload":{}}`,
		"rossnet": rossNetAssign,
	} {
		var claim []string
		for _, d := range all {
			if d.Recognizes([]byte(frame)) {
				claim = append(claim, d.Name())
			}
		}
		if len(claim) != 1 || claim[0] != name {
			t.Errorf("%s is claimed by %v", name, claim)
		}
	}
}

func TestLostMembers(t *testing.T) {
	ours := map[string]any{"same": "a", "other": json.Number("1"), "gone": true, "null": nil}
	if got := lostMembers("payload.", ours, map[string]any{"same": "a", "other": json.Number("1.0"), "new": true}); !slices.Equal(got, []string{"payload.gone", "payload.other"}) {
		t.Errorf("lost %v", got)
	}
}
