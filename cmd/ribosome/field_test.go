package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// fieldClient is a program that writes and reads the text of its protocol, without a codec of this
// module.
type fieldClient struct {
	t    *testing.T
	conn wire.Conn
}

// connects opens a connection to the WebSocket at a path of a node.
func (n begun) connects(path string) *fieldClient {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience.Time)
	n.t.Cleanup(cancel)
	conn, err := ws.Dial(ctx, strings.TrimSuffix(n.at["ws"], "/mcp")+path, ws.DialOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = conn.Close() })
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // so that a missing frame ends the test
	return &fieldClient{n.t, conn}
}

func (c *fieldClient) write(format string, args ...any) {
	c.t.Helper()
	if err := c.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: fmt.Appendf(nil, format, args...)}}); err != nil {
		c.t.Fatal(err)
	}
}

// read reads the next message.
func (c *fieldClient) read() string {
	c.t.Helper()
	data, err := c.conn.Read(func(wire.Frame) {})
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

// ask writes a message and reads the next one, which has to have those parts.
func (c *fieldClient) ask(message string, parts ...string) string {
	c.t.Helper()
	c.write("%s", message)
	return c.expect(parts...)
}

// expect reads the next message, which has to have those parts.
func (c *fieldClient) expect(parts ...string) string {
	c.t.Helper()
	got := c.read()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			c.t.Fatalf("got %s\nwant %s", got, part)
		}
	}
	return got
}

// at returns a member of an object by its path, as text.
func at(t *testing.T, text string, path ...string) string {
	t.Helper()
	v := json.RawMessage(text)
	for _, name := range path {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(v, &o); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		v = o[name]
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// A client of MCP without envelopes lists and calls the tools of the node, also of one agent.
func TestBareMCP(t *testing.T) {
	n := open(t)
	c := n.connects("/mcp")
	c.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"Editor","version":"1"}}}`,
		`{"jsonrpc":"2.0","result":{"protocolVersion":"2025-06-18"`, `"name":"node"`)
	c.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","result":{"tools":[`, `"name":"explain_code"`)
	const call = `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"explain_code","arguments":{"code_snippet":"x = [1]"},"code_snippet":"x = [1]"}}`
	c.ask(fmt.Sprintf(call, 2, "tools/call"), `{"jsonrpc":"2.0","result":{"content":[`, `"isError":false`, `"id":2}`)
	c.ask(fmt.Sprintf(call, 2, "Jules.explain_code"), `{"jsonrpc":"2.0","result":`, `"id":2}`)
	c.ask(`{"jsonrpc":"2.0","id":"d","method":"tools/list"}`, `"name":"Eddy.debug_code"`, `"name":"Jules.debug_code"`)
	c.ask(`{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"debug_code"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32602,"message":"params.name: several agents have \"debug_code\": want one of Eddy.debug_code, Jules.debug_code"`)
	c.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope"}}`, `{"jsonrpc":"2.0","error":{"code":-32601,`, `"id":3}`)
}

const fieldHeader = `{"mcp_header":{"sender_id":%q,"target_agent_id":%s,"target_service":%s,"message_type":%q,"timestamp":"2025-01-30T10:30:00Z","version":"1.0","correlation_id":%q},"payload":%s}`

func (c *fieldClient) rossnet(from, to, service, kind, correlation, payload string) {
	c.t.Helper()
	quoted := func(id string) string {
		if id == "" {
			return "null"
		}
		return `"` + id + `"`
	}
	c.write(fieldHeader, from, quoted(to), quoted(service), kind, correlation, payload)
}

// registers introduces an agent of the field with a capability.
func (n begun) registers(id, capability string) *fieldClient {
	n.t.Helper()
	c := n.connects("/ws/" + id)
	c.rossnet(id, "", "MCP_DISCOVERY", "DISCOVERY_REGISTER", "r", fmt.Sprintf(`{"agent_id":%q,"agent_name":%q,"agent_type":"W","capabilities":[{"name":%q}],"status":"active"}`, id, id, capability))
	c.expect(`"DISCOVERY_ACK"`)
	return c
}

// The agents of RossNet assign tasks with a task_id and a task_name, whose answers have the task_id
// and go to the workflow that asked, and send the requests of users to whom handles them.
func TestRossNetOfTheField(t *testing.T) {
	n := open(t)
	worker, router := n.registers("w1", "perform_web_search"), n.registers("router_agent_01", "task_routing")
	for _, workflow := range []string{"wf-1", "wf-2"} {
		router.rossnet("router_agent_01", "w1", "", "TASK_ASSIGN", workflow, `{"task_id":"step1","task_name":"Search PubMed","workflow_id":"`+workflow+`","query":"x"}`)
		worker.expect(`"payload":{"task_id":"step1","task_name":"Search PubMed","workflow_id":"` + workflow + `","query":"x"}`)
	}
	for _, workflow := range []string{"wf-2", "wf-1"} {
		worker.rossnet("w1", "router_agent_01", "", "TASK_COMPLETE", workflow, `{"workflow_id":"`+workflow+`","task_id":"step1","agent_id":"w1","status":"COMPLETED","result":{"of":"`+workflow+`"}}`)
		router.expect(`"correlation_id":"`+workflow+`"`, `"result":{"of":"`+workflow+`"}`, `"task_id":"step1"`, `"target_agent_id":"router_agent_01"`)
	}

	// To an agent in Go, with the name of its task and the other members as input.
	router.rossnet("router_agent_01", "Jules", "", "TASK_ASSIGN", "wf-3", `{"task_id":"step2","task_name":"explain_code","workflow_id":"wf-3","code_snippet":"x = [1]"}`)
	router.expect(`"TASK_ACKNOWLEDGE"`, `"subtask_id":"step2"`)
	for answer := ""; !strings.Contains(answer, `"status":"COMPLETED"`); {
		answer = router.expect(`"correlation_id":"wf-3"`)
		if strings.Contains(answer, "TASK_COMPLETE") && (at(t, answer, "payload", "task_id") != "step2" || at(t, answer, "payload", "workflow_id") != "wf-3") {
			t.Fatal(answer)
		}
	}

	// Of a user, without and with a recipient.
	router.rossnet("router_agent_01", "", "", "PROCESS_USER_REQUEST", "u-0", `{"goal":"g"}`)
	router.expect(`"error_code":"E005"`, `"correlation_id":"u-0"`)
	commander := n.registers("commander_agent_01", "user_request_handling")
	for _, to := range []string{"", "commander_agent_01"} {
		router.rossnet("router_agent_01", to, "", "PROCESS_USER_REQUEST", "u-1"+to, `{"goal":"g"}`)
		commander.expect(`"message_type":"PROCESS_USER_REQUEST"`, `"payload":{"goal":"g"}`)
		commander.rossnet("commander_agent_01", "router_agent_01", "", "TASK_COMPLETE", "u-1"+to, `{"status":"COMPLETED","result":{"a":1}}`)
		router.expect(`"correlation_id":"u-1`+to+`"`, `"result":{"a":1}`)
	}

	// The capabilities that a task requires choose its worker; a rejection is E009, and an agent
	// that is away E004. An inactive agent is found by a query for any status.
	router.rossnet("router_agent_01", "", "MCP_ROUTER", "TASK_ASSIGN", "c-1", `{"task_id":"s","task_name":"analyze","required_capabilities":["perform_web_search"]}`)
	worker.expect(`"task_name":"analyze"`)
	worker.rossnet("w1", "MCP_ROUTER", "", "TASK_COMPLETE", "c-1", `{"task_id":"s","status":"COMPLETED","result":{}}`)
	router.expect(`"TASK_COMPLETE"`, `"correlation_id":"c-1"`)
	router.rossnet("router_agent_01", "Jules", "", "TASK_ASSIGN", "c-2", `{"task_id":"s","task_name":"cook"}`)
	router.expect(`"TASK_ACKNOWLEDGE"`, `"error_code":"E009"`, `"reason_code":"incapable"`, `"status":"REJECTED"`)
	idle := n.connects("/ws/idle")
	idle.rossnet("idle", "", "MCP_DISCOVERY", "DISCOVERY_REGISTER", "r", `{"agent_id":"idle","agent_type":"W","capabilities":["rest"],"status":"inactive"}`)
	idle.expect(`"DISCOVERY_ACK"`)
	for status, part := range map[string]string{"ACTIVE": `"results":[]`, "ANY": `"results":[{"agent_id":"idle"`} {
		router.rossnet("router_agent_01", "", "MCP_DISCOVERY", "DISCOVERY_QUERY", "q", `{"query_by_capability":"rest","required_status":"`+status+`"}`)
		router.expect(part)
	}

	// What the directory knows of a capability has its schemas.
	router.rossnet("router_agent_01", "", "MCP_DISCOVERY", "DISCOVERY_QUERY", "q", `{"query_by_capability":"python"}`)
	router.expect(`"input_schema":{"type":"object",`, `{"name":"Python","input_schema":{},"output_schema":{}}`)
}

// bridge writes a message of the bridge protocol; a receiver that is empty is null.
func (c *fieldClient) bridge(id, kind, from, to, payload string) {
	c.t.Helper()
	receiver := "null"
	if to != "" {
		receiver = `"` + to + `"`
	}
	c.write(`{"message_id":%q,"message_type":%q,"sender_id":%q,"receiver_id":%s,"timestamp":"2025-01-30T10:30:00Z","correlation_id":null,"priority":"normal","payload":%s}`,
		id, kind, from, receiver, payload)
}

// shakes connects an agent of the bridge protocol.
func (n begun) shakes(id, tools, more string) *fieldClient {
	n.t.Helper()
	c := n.connects("/mcp")
	c.bridge("hello-"+id, "handshake_request", id, "", fmt.Sprintf(`{"agent_id":%q,"agent_name":%q,"agent_role":"tester","tools":%s%s}`, id, id, tools, more))
	c.expect(`"handshake_response"`, `"accepted":true`)
	return c
}

// The rows of the bridge protocol between programs and a node.
func TestBridgeOfTheField(t *testing.T) {
	n := open(t)
	a, tools, bare := n.shakes("a1", `[]`, ""), n.shakes("a2", `["t"]`, ""), n.shakes("a3", `[]`, "")

	a.bridge("1", "handshake_request", "a1", "Jules", `{"agent_id":"a1","agent_name":"a","agent_role":"r","tools":[]}`)
	a.expect(`"agent_role":"Software Engineer"`)

	// Broadcasts reach agents with and without tools, and keep their form.
	a.bridge("2", "notification", "a1", "", `{"event_type":"e","data":{}}`)
	for _, c := range []*fieldClient{tools, bare} {
		c.expect(`"message_id":"2"`, `"receiver_id":null`)
	}

	// A notification to nobody is answered, and so are unknown tools, with those that there are.
	a.bridge("3", "notification", "a1", "nobody", `{"event_type":"e","data":{}}`)
	a.expect(`"message_type":"error"`, `"correlation_id":"3"`, `"reason_code":"agent_not_found"`)
	a.bridge("4", "request", "a1", "Jules", `{"tool_name":"nope","arguments":{}}`)
	a.expect(`"TOOL_NOT_FOUND"`, `"available_tools":["EXECUTE_DELEGATED_CODING_TASK","debug_code","refactor_code_snippet","refactor_suggestion","explain_code"]`)
	a.bridge("5", "request", "a1", "system", `{"tool_name":"nope","arguments":{}}`)
	a.expect(`"TOOL_NOT_FOUND"`, `"explain_code"`, `"available_tools":["t","DELEGATE_CODING_TASK_TO_JULES",`)
}

// Two nodes that are linked by bridge find each other's agents, and each has its name in the path
// of a message.
func TestBridgeBetweenNodes(t *testing.T) {
	far := hosts(t, "--no-auth", "--swarm", "eddyjules", "--name", "far")
	near := hosts(t, "--no-auth", "--name", "near", "--bridge", far.at["ws"], "--label", "zone=a")
	if !strings.Contains(near.shows(&near.stderr, "--label is ignored"), "without --gossip") {
		t.Error("nothing is said of --label")
	}
	worker, asker := far.shakes("w", `["t"]`, `,"extensions":{"routing":{}}`), near.shakes("a", `["own"]`, `,"extensions":{"routing":{}}`)
	for linked := false; !linked; {
		asker.bridge("hi", "request", "a", "Jules", `{"tool_name":"explain_code","arguments":{"code_snippet":"x = [1]"}}`)
		linked = strings.Contains(asker.read(), `"success":true`)
	}
	asker.bridge("1", "request", "a", "w", `{"tool_name":"t","arguments":{}}`)
	worker.expect(`"route":{"hop_limit":15,"path":["near","far"]}`)
	back := far.shakes("b", `[]`, "")
	back.bridge("2", "request", "b", "a", `{"tool_name":"own","arguments":{}}`)
	asker.expect(`"tool_name":"own"`, `"path":["far","near"]`)
	for text, want := range map[string]string{"grpc://127.0.0.1:1": "gRPC has one protocol", "nowhere": "--bridge is no address"} {
		if r := runs(t, "node", "--no-auth", "--tcp", "127.0.0.1:0", "--bridge", text); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// A coordinator of the rag protocol keeps its name System, is told where a result went, and hears
// of failures that answer nothing.
func TestRAGSystem(t *testing.T) {
	n := hosts(t, "--no-auth")
	rag := func(c *fieldClient, kind, from, to, trace, payload string) {
		c.write(`{"type":%q,"sender":%q,"receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s}`, kind, from, to, trace, payload)
	}
	register := func(name, types string) *fieldClient {
		c := n.connects("/mcp")
		rag(c, "AGENT_REGISTRATION", name, "System", "reg-"+name+"-001", fmt.Sprintf(`{"agent_id":%q,"agent_type":"t","capabilities":["x"],"message_types":%s,"status":"active"}`, name, types))
		c.expect(`"agent_type":"t","capabilities":["x"],"message_types":` + types)
		return c
	}
	retrieval, responder, system := register("RetrievalAgent", `["RETRIEVAL_REQUEST"]`), register("LLMResponseAgent", `["RESPONSE_REQUEST"]`), n.connects("/mcp")
	rag(system, "RETRIEVAL_REQUEST", "System", "RetrievalAgent", "ret-002", `{"query":"What KPIs?"}`)
	retrieval.expect(`"sender":"System","receiver":"RetrievalAgent","trace_id":"ret-002"`)
	rag(retrieval, "RETRIEVAL_RESULT", "RetrievalAgent", "LLMResponseAgent", "ret-002", `{"query":"What KPIs?","retrieved_chunks":[]}`)
	responder.expect(`"type":"RETRIEVAL_RESULT"`)
	system.expect(`"trace_id":"ret-002"`, `"result_for":"LLMResponseAgent"`)
	rag(retrieval, "ERROR_MESSAGE", "RetrievalAgent", "System", "err-777-001", `{"error_code":"VECTOR_DB_ERROR","error_message":"no index"}`)
	system.expect(`"type":"ERROR_MESSAGE"`, `"error_code":"VECTOR_DB_ERROR"`, `"receiver":"System"`)
}

// The trace of a call of MCP is that of the conversation, and goes along to a worker of MCP.
func TestTraceOfMCP(t *testing.T) {
	n := hosts(t, "--no-auth")
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	worker, agent, c := n.connects("/mcp"), n.connects("/mcp"), n.connects("/mcp")
	worker.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"tools":[{"name":"add"}]},"clientInfo":{"name":"Adder","version":"1"}}}`, `"id":0`)
	agent.ask(`{"mcp_version":"0.1.0","message_id":"1","performative":"QUERY_CAPABILITIES","sender":{"agent_id":"Painter"},"receiver":{"agent_id":"system"},"timestamp":"2025-01-30T10:30:00Z",`+
		`"payload":{"query_type":"summary","capabilities":{"topics":[],"actions":[{"name":"paint","description":"d"}]}}}`, `"INFORM_CAPABILITIES"`)
	for tool, of := range map[string]*fieldClient{"add": worker, "paint": agent} {
		c.write(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"_meta":{"traceparent":%q,"own":1}}}`, tool, tool, trace)
		of.expect(`"4bf92f3577b34da6a3ce929d0e0e4736`[1:], `"own":1`)
	}
}

// A worker whose asker has gone is told to stop. Its late answer is answered by no error.
func TestLateAnswerOfTheField(t *testing.T) {
	n := hosts(t, "--no-auth")
	worker, asker := n.registers("w1", "dig"), n.connects("/ws/a1")
	asker.rossnet("a1", "w1", "", "TASK_ASSIGN", "c-1", `{"subtask_id":"s-1","task_name":"dig","input_data":{}}`)
	worker.expect(`"TASK_ASSIGN"`)
	_ = asker.conn.Close()
	worker.expect(`"CANCEL"`)
	worker.rossnet("w1", "a1", "", "TASK_COMPLETE", "c-1", `{"subtask_id":"s-1","output_data":{}}`)
	worker.rossnet("w1", "", "MCP_ROUTER", "PING", "c-2", `{"client_timestamp":"2025-01-30T10:30:00Z"}`)
	worker.expect(`"PONG"`)

	const frame = `{"type":%q,"sender":%q,"receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:30:00Z","payload":%s}`
	digger, system := n.connects("/mcp"), n.connects("/mcp")
	digger.ask(fmt.Sprintf(frame, "AGENT_REGISTRATION", "Digger", "System", "ing-1",
		`{"agent_id":"Digger","agent_type":"digger","capabilities":["DIG"],"message_types":["DIG"],"status":"active"}`), `"AGENT_REGISTRATION_RESULT"`)
	system.write(frame, "DIG", "System", "Digger", "ret-1", `{}`)
	digger.expect(`"DIG"`)
	_ = system.conn.Close()
	digger.expect(`"CANCEL"`)
	digger.write(frame, "DIG_RESULT", "Digger", "System", "ret-1", `{}`)
	digger.write(frame, "QUERY_CAPABILITIES", "Digger", "system", "ret-2", `{"query_type":"summary"}`)
	digger.expect(`"ret-2"`, `"INFORM_CAPABILITIES"`)
}

// A first frame that no dialect recognizes is told the dialects that there are.
func TestUnknownFirstFrame(t *testing.T) {
	n := hosts(t, "--no-auth")
	for _, frame := range []string{`{}`, `hello`, `[]`, `{"type":"RETRIEVAL_REQUEST","sender":"System",`} {
		n.connects("/mcp").ask(frame, `want a message of one of the dialects gateway, bridge, acl, rag, rossnet`)
	}
}

// What another dialect cannot express at all leaves nothing to write.
func TestTranslateNothing(t *testing.T) {
	const broadcast = `{"mcp_version":"0.1.0","message_id":"1","performative":"INFORM","sender":{"agent_id":"A"},"timestamp":"2025-01-30T10:30:00Z","payload":{"x":1}}`
	if r := runsWith(t.Context(), broadcast, "translate", "--from", "acl", "--to", "rag"); r.code != exitNothing || r.stdout != "" || !strings.Contains(r.stderr, "nothing is left to write in rag") {
		t.Errorf("%+v", r)
	}
	if r := runsWith(t.Context(), "{", "translate", "--from", "acl", "--to", "rag"); r.code != exitFailed {
		t.Errorf("%+v", r)
	}
}
