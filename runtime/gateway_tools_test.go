package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// named returns an agent with tools. Each result names the agent and the tool.
func named(id performatives.AgentID, tools ...string) builder {
	b := builder{worker: worker{func(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprintf("%s of %s", t.TaskType, id)}, nil
	}}}
	for _, name := range tools {
		b.tools = append(b.tools, performatives.Action{Name: name})
	}
	return b
}

// A tool that several agents have is listed once for each, with the agent in its name, and is
// called by that name only.
func TestGatewayToolsOfSeveralAgents(t *testing.T) {
	h := newGatewayHub(t)
	for id, tools := range map[performatives.AgentID][]string{
		"Eddy": {"debug_code", "delegate"}, "Jules": {"Debug-Code", "a.b", "delegate.now"}, "v1.2": {"debug_code"}, "lab/one": {"weigh"}, "lab/two": {"weigh", "mix"},
	} {
		h.spawn(id, returning(named(id, tools...)))
	}
	p := h.program("cli")
	const all = "[Eddy.debug_code/Eddy/false delegate/Eddy/false Jules.Debug-Code/Jules/false a.b/Jules/false delegate.now/Jules/false " +
		"lab/one.weigh/lab/one/false lab/two.weigh/lab/two/false mix/lab/two/false v1.2.debug_code/v1.2/false]"
	for namespace, want := range map[string]string{
		"": all, "system": all, "default": all, "tools": all, // tools is neither an agent nor a namespace
		"lab":  "[lab/one.weigh/lab/one/false lab/two.weigh/lab/two/false mix/lab/two/false]",
		"Eddy": "[debug_code//false delegate//false]",
	} {
		p.ask("1", namespace, "tools/list", "{}")
		if got := fmt.Sprint(toolsOf(t, p.result("1"))); got != want {
			t.Errorf("%q: %s, want %s", namespace, got, want)
		}
	}
	p.ask(`"i"`, "tools", "initialize", `{"protocolVersion":"1.0"}`)
	p.result(`"i"`)

	const several = `: several agents have "debug_code": want one of Eddy.debug_code, Jules.debug_code, v1.2.debug_code`
	for i, tt := range []struct{ namespace, tool, want string }{
		{"", "delegate", "delegate of Eddy"},
		{"", "Jules.debug_code", "debug_code of Jules"},
		{"system", "eddy.DEBUG code", "DEBUG code of Eddy"},
		{"default", "v1.2.debug_code", "debug_code of v1.2"},
		{"Jules", "debug_code", "debug_code of Jules"},
		{"Jules", "Jules.debug_code", "debug_code of Jules"},
		{"", "a.b", "a.b of Jules"},
		{"", "Eddy.delegate", "delegate of Eddy"},
		{"", "lab.mix", "mix of lab/two"},
		{"lab", "lab/one.weigh", "weigh of lab/one"},
		{"tools", "mix", "mix of lab/two"},
		{"tools", "lab/two.weigh", "weigh of lab/two"},
		{"", "debug_code", "-32602 mcp_payload.params.name" + several},
		{"tools", "debug_code", "-32602 mcp_payload.params.name" + several},
		{"lab", "weigh", `-32602 mcp_payload.params.name: several agents have "weigh": want one of lab/one.weigh, lab/two.weigh`},
		{"", "lab.weigh", `-32602 mcp_payload.params.name: several agents have "weigh": want one of lab/one.weigh, lab/two.weigh`},
		{"", "Nobody.debug_code", `-32601 there is no action "Nobody.debug_code"`},
		{"lab", "Eddy.delegate", `-32601 there is no action "Eddy.delegate"`},
		{"tools", "nothing", `-32003 there is no agent "tools"`},
	} {
		p.ask(fmt.Sprint(i), tt.namespace, "tools/call", fmt.Sprintf(`{"name":%q}`, tt.tool))
		if got := outcomeOf(p, fmt.Sprint(i)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("tools/call %s at %q: %s, want %s", tt.tool, tt.namespace, got, tt.want)
		}
	}
	for i, tt := range []struct{ namespace, method, want string }{
		{"", "Jules.debug_code", "debug_code of Jules"},
		{"system", "Jules.debug_code", "debug_code of Jules"},
		{"", "a.b", "a.b of Jules"},
		{"Jules", "x.debug_code", "debug_code of Jules"},
		{"system", "x.delegate", "delegate of Eddy"},
		{"system", "x.debug_code", "-32602 mcp_payload.method" + several},
		{"", "nobody.delegate", `-32003 there is no agent "nobody"`},
		{"tools", "nobody.delegate", `-32003 there is no agent "tools"`},
	} {
		p.ask(fmt.Sprint(100+i), tt.namespace, tt.method, "{}")
		if got := outcomeOf(p, fmt.Sprint(100+i)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s at %q: %s, want %s", tt.method, tt.namespace, got, tt.want)
		}
	}
}

// outcomeOf returns the text of a result, or the code and text of an error.
func outcomeOf(p *program, id string) string {
	p.t.Helper()
	e := p.read()
	if string(e.ID) != id {
		p.t.Fatalf("got %s, want the answer to %s", e.Payload, id)
	}
	if e.Fault != nil {
		return fmt.Sprint(e.Fault.Code, " ", e.Fault.Message)
	}
	for _, key := range []string{`"text":"`, `"summary":"`} {
		if _, text, ok := strings.Cut(string(e.Result), key); ok {
			text, _, _ = strings.Cut(text, `"`)
			return text
		}
	}
	return string(e.Result)
}

// initialized has the program introduce itself with a version, and list the tools of a namespace.
func (p *program) initialized(version, namespace string) {
	p.t.Helper()
	p.ask(`"i"`, "", "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{}}`, version))
	if got, mcp := p.result(`"i"`), version != "1.0"; strings.Contains(got, `"tools":{"listChanged":true}`) != mcp {
		p.t.Errorf("introduced in %s: %s", version, got)
	}
	p.ask(`"l"`, namespace, "tools/list", "{}")
	p.result(`"l"`)
}

// changed reads the notification that the list of tools has changed.
func (p *program) changed() {
	p.t.Helper()
	if e := p.read(); e.Method != "notifications/tools/list_changed" || e.Params != nil {
		p.t.Fatalf("%s got %s", p.name, e.Payload)
	}
}

// A client of MCP is told when the list of tools changes that it has asked for. No other one is.
func TestGatewayListChanged(t *testing.T) {
	h := newGatewayHub(t)
	h.spawn("lab/zero", returning(named("lab/zero")))
	told, elsewhere, old := h.program("told"), h.program("elsewhere"), h.program("old")
	told.initialized("2025-06-18", "")
	elsewhere.initialized("2025-06-18", "lab")
	old.initialized("1.0", "")
	never := h.program("never")
	never.ask("1", "", "initialize", `{"protocolVersion":"2025-06-18"}`)
	never.result("1")
	bare := h.program("bare")
	bare.write(request("1", "initialize", `{"protocolVersion":"2025-06-18"}`))
	bare.frame()
	bare.write(request("2", "tools/list", "{}"))
	bare.frame()

	h.spawn("Eddy", returning(named("Eddy", "debug_code")))
	told.changed()
	told.ask("2", "", "tools/list", "{}")
	if got := fmt.Sprint(toolsOf(t, told.result("2"))); got != "[debug_code/Eddy/false]" {
		t.Errorf("listed %s", got)
	}
	if got := string(bare.frame()); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("without envelopes: got %s", got)
	}
	h.spawn("Idle", returning(named("Idle")))                // without tools
	if err := h.StopAgent(t.Context(), "Eddy"); err != nil { // the clients have been told of all before
		t.Fatal(err)
	}
	told.changed()
	h.spawn("lab/one", returning(named("lab/one", "weigh")))
	told.changed()
	elsewhere.changed()
	h.spawn("lab/two", returning(named("lab/two", "weigh"))) // all has been told that was to be told before
	told.changed()
	elsewhere.changed()
	for _, p := range []*program{told, elsewhere, old, never} {
		p.ask("10", "", "ping", "{}")
		p.result("10")
	}
}

// A client that has asked for the tools of one agent only is told when they change.
func TestGatewayListOfOneAgentChanged(t *testing.T) {
	h := newGatewayHub(t)
	h.spawn("Solo", returning(named("Solo", "mix")))
	p := h.program("cli")
	p.ask("1", "Solo", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`)
	p.result("1")
	p.ask("2", "Solo", "tools/list", "{}")
	p.result("2")
	if err := h.StopAgent(t.Context(), "Solo"); err != nil {
		t.Fatal(err)
	}
	p.changed()
}

// A client is not told of the tools of agents that it may not call.
func TestGatewayListChangedByRules(t *testing.T) {
	h := newRuledHub(t, `[{"agent":"*","allow":["Jules"]}]`)
	p := h.program("cli")
	p.initialized("2025-06-18", "")
	free := newGatewayHubOf(t, h.Node).program("free") // without rules
	free.initialized("2025-06-18", "")
	for _, id := range []performatives.AgentID{"Eddy/a", "Eddy/b"} {
		h.spawn(id, returning(named(id, "mix")))
		free.changed()
	}
	p.ask("1", "", "ping", "{}")
	p.result("1")
	if err := h.StopAgent(t.Context(), "Jules"); err != nil {
		t.Fatal(err)
	}
	p.changed()
}

// A program that says that its tools have changed is asked for them. Its topics stay.
func TestToolsOfAProgramChange(t *testing.T) {
	h := newGatewayHub(t)
	files, p := h.program("Files"), h.program("cli")
	files.ask("0", "", "initialize", `{"protocolVersion":"1.1","capabilities":{"topics":["Files"],"tools":[{"name":"open"}]}}`)
	files.result("0")
	for i, tools := range []string{`[{"name":"open"},{"name":"close"}]`, `[{"name":"seal"}]`} {
		files.notify("notifications/tools/list_changed", "null")
		asked := files.read()
		if asked.Method != "tools/list" {
			t.Fatalf("the program gets %s", asked.Payload)
		}
		files.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, asked.ID, tools), "")
		files.ask("1", "", "ping", "{}") // the node has read the list
		files.result("1")
		p.ask("2", "", "tools/list", "{}")
		want := []string{"[open/Files/false close/Files/false]", "[seal/Files/false]"}[i]
		if got := fmt.Sprint(toolsOf(t, p.result("2"))); got != want {
			t.Errorf("the tools are %s, want %s", got, want)
		}
	}
	if c, ok := h.System().Find("Files"); !ok || !c.Describe().HasAll([]string{"files", "seal"}) {
		t.Errorf("the program is found as %+v", c.Describe())
	}
}

// The receiver * of an IDE client is the first agent with the action of the ontology that accepts.
func TestReceiverThatNamesNone(t *testing.T) {
	h := newGatewayHub(t)
	h.spawn("Adam", func() actors.Agent { return reluctant{named("Adam", "explain_code")} })
	h.spawn("Bea", returning(named("Bea", "explain_code")))
	vscode := h.program("vscode-user")
	ask := func(id, ontology string) (texts []string) {
		vscode.write(fmt.Sprintf(`{"conversation_id":%q,"performative":"REQUEST","ontology":%q,"payload":{"code_snippet":"x"},"sender":"vscode-user","receiver":"*","timestamp":"2025-01-30T10:30:00Z"}`, id, ontology))
		for {
			text := string(vscode.frame())
			texts = append(texts, text)
			if !strings.Contains(text, `"ACCEPT"`) {
				return texts
			}
		}
	}
	got := ask("c1", "elizaos:ide:explain_code")
	if last := got[len(got)-1]; !strings.Contains(last, `"sender":"system"`) || !strings.Contains(last, "explain_code of Bea") || !strings.Contains(last, `"handled_by":"Bea"`) {
		t.Errorf("got %s", got)
	}
	if got := ask("c2", "elizaos:ide:sing"); !strings.Contains(got[0], `there is no action \"sing\"; there are explain_code`) {
		t.Errorf("an action that nobody has: %s", got)
	}
	if err := h.StopAgent(patience.Context(t), "Bea"); err != nil {
		t.Fatal(err)
	}
	if got := ask("c3", "elizaos:ide:explain_code"); !strings.Contains(got[0], `"REJECT"`) || !strings.Contains(got[0], "busy") {
		t.Errorf("the only one is busy: %s", got)
	}
}

// reluctant rejects all tasks.
type reluctant struct{ builder }

func (reluctant) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Reject(performatives.CodeBusy, "after lunch")
}
