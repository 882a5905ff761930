package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// doubles has an action of its own, and the action double.
type doubles struct {
	rossNetWorker
	own string
}

func (d doubles) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"topic " + d.own}, Actions: []p.Action{{Name: "double"}, {Name: d.own}}}
}

// newRuledHub returns a node with all dialects, whose peers have the given rules. It has the agents
// Eddy and Jules, and Jules/tools.
func newRuledHub(t *testing.T, rules string) *gatewayHub {
	t.Helper()
	parsed, err := auth.ParseRules([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	authorize, err := parsed.Authorizer()
	if err != nil {
		t.Fatal(err)
	}
	d := gateway.New(gateway.Options{BinaryProtocol: true})
	h := newHub(t, runtime.PeerOptions{}, func(o *wire.Options) {
		o.Authorize, o.Dialects = authorize, []wire.Dialect{d, bridge.Dialect{}, acl.Dialect{}, rag.Dialect{}, rossnet.Dialect{}}
	})
	l, err := tcp.Listen(h.server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopListener(t, l)
	for id, own := range map[p.AgentID]string{"Eddy": "delegate", "Jules": "debug"} {
		h.spawn(id, func() actors.Agent { return doubles{own: own} })
	}
	return &gatewayHub{h, l.Addr().String()}
}

// said are the frames of a program in one dialect.
type said struct {
	first   []string                   // the handshake and the like; each is answered
	lists   []string                   // queries for what there is
	calls   func(agent string) string  // a task
	anyone  func(action string) string // a task for an agent that has the action; nil if the dialect has none
	drain   string                     // an act on the node; empty if the dialect has none
	refused string                     // of a forbidden message
}

func ruledDialects() map[string]said {
	acl := func(act, to, payload string) string {
		return fmt.Sprintf(`{"mcp_version":"0.1.0","message_id":%q,"performative":%q,"sender":{"agent_id":"crm"},%s%s,"payload":%s}`, p.NewID(), act, to, interopTime, payload)
	}
	bridge := func(kind, to, payload string) string {
		return fmt.Sprintf(`{"message_id":%q,"message_type":%q,"sender_id":"crm","receiver_id":%s,"timestamp":"2025-01-30T10:30:00.000123","correlation_id":null,"priority":"normal","payload":%s}`, p.NewID(), kind, to, payload)
	}
	gateway := func(more, method, params string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-30T10:30:00.000Z","source":"crm",%s"mcp_payload":{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}}`, p.NewID(), more, p.NewID(), method, params)
	}
	rag := func(kind, to, payload string) string {
		return fmt.Sprintf(`{"type":%q,"sender":"crm","receiver":%q,"trace_id":"ret-%s-001","timestamp":"2025-01-30T10:31:00Z","payload":%s}`, kind, to, p.NewID(), payload)
	}
	rossnet := func(kind, to, payload string) string {
		return fmt.Sprintf(`{"mcp_header":{"message_id":%q,"correlation_id":%q,"sender_id":"crm","recipient_id":%q,"timestamp":"2025-01-30T10:30:00Z","version":"1.0","message_type":%q,"auth_token":null},"payload":%s}`,
			p.NewID(), p.NewID(), to, kind, payload)
	}
	const summary = `{"query_type":"summary"}`
	return map[string]said{
		"acl": {
			lists: []string{
				acl("QUERY_CAPABILITIES", `"receiver":{"agent_id":"system"},`, summary), acl("QUERY_CAPABILITIES", "", summary),
				acl("QUERY_CAPABILITIES", `"receiver":{"agent_id":"hub"},`, summary), acl("QUERY_REF", `"receiver":{"agent_id":"system"},`, `{"reference":"agents"}`),
			},
			calls: func(to string) string {
				return fmt.Sprintf(acl("TASK_REQUEST", `"receiver":{"agent_id":"%[1]s"},`, `{"task_type":"double","task_parameters":{"n":2}}`), to)
			},
			anyone: func(to string) string {
				return fmt.Sprintf(acl("TASK_REQUEST", `"receiver":{"agent_id":"system"},`, `{"task_type":"%[1]s","task_parameters":{"n":2}}`), to)
			},
			drain:   acl("REQUEST", `"receiver":{"agent_id":"system"},`, `{"operation":"drain","node":"hub"}`),
			refused: `"forbidden"`,
		},
		"bridge": {
			first: []string{bridge("handshake_request", "null", `{"agent_id":"crm","agent_name":"A program","agent_role":"processor","tools":[],"version":"0.1.0"}`)},
			lists: []string{bridge("handshake_request", "null", `{"agent_id":"crm","agent_name":"A program","agent_role":"processor","tools":[],"version":"0.1.0"}`)},
			calls: func(to string) string {
				return fmt.Sprintf(bridge("request", `"%[1]s"`, `{"tool_name":"double","arguments":{"n":2}}`), to)
			},
			anyone: func(to string) string {
				return fmt.Sprintf(bridge("request", `"system"`, `{"tool_name":"%[1]s","arguments":{"n":2}}`), to)
			},
			refused: "UNAUTHORIZED",
		},
		"gateway": {
			first: []string{gateway("", "initialize", `{"protocolVersion":"1.0","capabilities":{},"clientInfo":{"name":"crm","version":"1"}}`)},
			lists: []string{gateway("", "tools/list", "{}"), gateway(`"target_namespace":"system",`, "tools/list", "{}"), gateway(`"target_namespace":"default",`, "tools/list", "{}")},
			calls: func(to string) string {
				return fmt.Sprintf(gateway(`"target_namespace":"%[1]s",`, "tools/call", `{"name":"double","arguments":{"n":2}}`), to)
			},
			anyone: func(to string) string {
				return fmt.Sprintf(gateway("", "tools/call", `{"name":"%[1]s","arguments":{"n":2}}`), to)
			},
			refused: "-32002",
		},
		"rag": {
			first: []string{rag("AGENT_REGISTRATION", "System", `{"agent_id":"crm","agent_type":"retrieval","capabilities":["search"],"message_types":[],"status":"active"}`)},
			calls: func(to string) string { return fmt.Sprintf(rag("RETRIEVAL_REQUEST", "%[1]s", `{"query":"KPIs?"}`), to) }, refused: "UNAUTHORIZED",
		},
		"rossnet": {
			first: []string{rossnet("PING", "MCP_ROUTER", `{"client_timestamp":"2025-01-30T10:30:00Z"}`), rossnet("DISCOVERY_REGISTER", "MCP_DISCOVERY", `{"agent_id":"crm","agent_type":"client","status":"ACTIVE","capabilities":[]}`)},
			lists: []string{rossnet("DISCOVERY_QUERY", "MCP_DISCOVERY", `{"query_by_capability":"double"}`)},
			calls: func(to string) string {
				return fmt.Sprintf(rossnet("TASK_ASSIGN", "%[1]s", `{"subtask_id":"8a7b4a4c-7ee5-4a34-9b6b-0d1f1f6a3f10","task_name":"double","input_data":{"n":2}}`), to)
			},
			anyone: func(to string) string {
				return fmt.Sprintf(rossnet("TASK_ASSIGN", "MCP_ROUTER", `{"subtask_id":"8a7b4a4c-7ee5-4a34-9b6b-0d1f1f6a3f11","task_name":"%[1]s","input_data":{"n":2}}`), to)
			},
			refused: "E002",
		},
	}
}

// TestListsShowWhatTheirReaderMayCall has a peer that may speak to one agent only: in each dialect
// it can greet the node, finds that agent alone, and reaches no other one, under its name or
// through a namespace.
func TestListsShowWhatTheirReaderMayCall(t *testing.T) {
	h := newRuledHub(t, `[{"agent":"*","allow":["Jules"]}]`)
	for name, d := range ruledDialects() {
		t.Run(name, func(t *testing.T) {
			c := h.program(name)
			c.t = t
			next := func(frame string) string {
				t.Helper()
				c.write(frame)
				return string(c.frame())
			}
			for _, frame := range d.first {
				if got := next(frame); strings.Contains(strings.ToLower(got), "forbidden") || strings.Contains(got, "E00") || strings.Contains(got, "Eddy") {
					t.Errorf("%s: got %s", frame, got)
				}
			}
			for _, frame := range d.lists {
				if got := next(frame); !strings.Contains(got, "double") || strings.Contains(got, "Eddy") || strings.Contains(got, "delegate\"") {
					t.Errorf("%s: got %s", frame, got)
				}
			}
			if got := next(d.calls("Eddy")); !strings.Contains(got, d.refused) {
				t.Errorf("a call of Eddy: got %s", got)
			}
			if d.anyone == nil {
				return // a retrieval goes to the one agent that has registered for it
			}
			if got := next(d.anyone("delegate")); !strings.Contains(got, "no action") && !strings.Contains(got, "no agent") {
				t.Errorf("a task for Eddy alone: got %s", got)
			}
			for got := next(d.anyone("double")); !strings.Contains(got, `"n":4`); got = string(c.frame()) {
				if strings.Contains(got, "Eddy") || strings.Contains(got, "error") {
					t.Fatalf("a task for anyone: got %s", got)
				}
			}
			if d.drain != "" {
				if got := next(d.drain); !strings.Contains(got, d.refused) {
					t.Errorf("a drain: got %s", got)
				}
			}
		})
	}
}
