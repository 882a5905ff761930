package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// builder is a worker whose tools have schemas. The tool slow reports its start and runs
// until it is cancelled.
type builder struct {
	worker
	tools []performatives.Action
}

func (b builder) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Building"}, Actions: b.tools}
}

// calculator is an agent whose tools validate their arguments.
type calculator struct{ *tool.Tools }

type terms struct {
	A int `json:"a"`
	B int `json:"b"`
}

func newCalculator(t testing.TB) calculator {
	t.Helper()
	add, err := tool.New("add", "adds", func(_ context.Context, in terms) (map[string]int, error) {
		return map[string]int{"sum": in.A + in.B}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewSet(add)
	if err != nil {
		t.Fatal(err)
	}
	return calculator{tools}
}

func newBuilder(began chan<- struct{}, ended chan<- error) builder {
	return builder{
		tools: []performatives.Action{
			{Name: "build", Description: "builds", InputSchema: json.RawMessage(`{"type":"object","required":["plan"]}`)},
			{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)},
		},
		worker: worker{func(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
			if t.TaskType == "slow" {
				began <- struct{}{}
				_ = t.Progress(50, "half") // it may have ended by now
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return performatives.InformResult{}, ctx.Err()
			}
			if err := t.Progress(50, "half"); err != nil {
				return performatives.InformResult{}, err
			}
			return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "built"}, nil
		}},
	}
}

// newStaffedHub returns a hub with a calculator and a builder.
func newStaffedHub(t *testing.T) (h *gatewayHub, ended chan error) {
	t.Helper()
	ended = make(chan error, 4)
	h = newGatewayHub(t)
	h.spawn("Calc", returning(newCalculator(t)))
	h.spawn("Bob", returning(newBuilder(make(chan struct{}, 4), ended)))
	return h, ended
}

// toolsOf returns the tools of a result as name/agent/schema.
func toolsOf(t *testing.T, result string) (all []string) {
	t.Helper()
	var r struct {
		Tools []struct {
			Name   string         `json:"name"`
			Schema map[string]any `json:"inputSchema"`
			Meta   struct {
				Agent string `json:"agent"`
			} `json:"_meta"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		all = append(all, fmt.Sprintf("%s/%s/%t", tool.Name, tool.Meta.Agent, tool.Schema["required"] != nil))
	}
	return all
}

func TestGatewayListsTools(t *testing.T) {
	h, _ := newStaffedHub(t)
	p := h.program("cli")
	for namespace, want := range map[string]string{
		"":        "[build/Bob/true slow/Bob/false add/Calc/true]",
		"default": "[build/Bob/true slow/Bob/false add/Calc/true]",
		"Calc":    "[add//true]", // the agent itself replies
		"bob":     "[build//true slow//false]",
	} {
		p.ask("1", namespace, "tools/list", "{}")
		if got := fmt.Sprint(toolsOf(t, p.result("1"))); got != want {
			t.Errorf("%q: %s, want %s", namespace, got, want)
		}
	}
}

func TestGatewayCallsTools(t *testing.T) {
	h, _ := newStaffedHub(t)
	p := h.program("cli")
	for id, namespace := range []string{"", "system", "default", "Calc"} {
		p.ask(fmt.Sprint(id), namespace, "tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`)
		if got := p.result(fmt.Sprint(id)); !strings.Contains(got, `"structuredContent":{"sum":3}`) {
			t.Errorf("%q: %s", namespace, got)
		}
	}
	for _, id := range []string{"9007199254740993123", "-0.5", `"x"`, `""`, "null"} {
		p.ask(id, "", "Calc.add", `{"a":1,"b":2}`)
		if got := p.result(id); got != `{"sum":3}` {
			t.Errorf("%s: %s", id, got)
		}
	}
	for _, tt := range []struct {
		method, params string
		code           int
		text           string
	}{
		{"tools/call", `{"name":"nothing"}`, -32601, `there is no action "nothing"`},
		{"tools/call", `{"name":"add","arguments":{"a":1,"b":"x"}}`, -32602, "arguments.b: "},
		{"Calc.add", `{"a":1}`, -32602, "params.b: this member is required"},
		{"nobody.add", `{}`, -32003, "there is no agent"},
		{"no/such", `{}`, -32601, "Method not found"},
	} {
		p.ask("7", "", tt.method, tt.params)
		if code, _, text := p.fault("7"); code != tt.code || !strings.HasPrefix(text, tt.text) {
			t.Errorf("%s %s: %d %s", tt.method, tt.params, code, text)
		}
	}
}

// A slow request does not delay others. A cancelled one stops without a reply, and only
// its sender can cancel it.
func TestGatewaySlowRequests(t *testing.T) {
	h, ended := newStaffedHub(t)
	p := h.program("cli")
	p.ask("5", "Bob", "tools/call", `{"name":"slow","_meta":{"progressToken":"t"}}`)
	if token, percent := p.progress(); token != `"t"` || percent != 50 {
		t.Errorf("progress %v of %s", percent, token)
	}
	p.ask("6", "", "Calc.add", `{"a":1,"b":2}`)
	p.result("6")

	p.name = "thief"
	p.notify("notifications/cancelled", `{"requestId":5}`)
	p.name = "cli"
	p.notify("notifications/cancelled", `{"requestId":"5"}`) // another id
	p.ask("7", "", "ping", "{}")
	p.result("7")
	select {
	case why := <-ended:
		t.Errorf("somebody else has cancelled it: %v", why)
	default:
	}
	p.notify("notifications/cancelled", `{"requestId":5,"reason":"enough"}`)
	if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("the work ended because of %v", why)
	}

	began := make(chan struct{}, 4)
	h.spawn("Tim", returning(newBuilder(began, ended)))
	for n, ms := 8, 500; len(began) == 0; n, ms = n+1, 2*ms { // on a busy machine, the time may be over before the work begins
		id := fmt.Sprint(n)
		p.send(request(id, "tools/call", `{"name":"slow"}`), fmt.Sprintf(`"metadata":{"timeout_ms":%d},"target_namespace":"Tim",`, ms))
		if code, wireCode, text := p.fault(id); code != -32004 || wireCode != "SERVICE_UNAVAILABLE" {
			t.Fatalf("%d %s %s", code, wireCode, text)
		}
	}
	if why := <-ended; !errors.Is(why, codons.ErrDeadline) {
		t.Errorf("the work ended because of %v", why)
	}
}

// The replies of a batch wait for its slowest request. Other requests do not wait.
func TestGatewayBatch(t *testing.T) {
	h, ended := newStaffedHub(t)
	p := h.program("cli")
	p.send(`[`+request("1", "Bob.slow", `{"_meta":{"progressToken":1}}`)+`,`+request("2", "Calc.add", `{"a":1,"b":2}`)+
		`,{"jsonrpc":"2.0","method":"Calc.hint"},7,`+request("3", "ping", "{}")+`]`, "")
	p.progress()
	p.ask("4", "", "ping", "{}")
	p.result("4")
	p.notify("notifications/cancelled", `{"requestId":1}`)
	e := p.read()
	var batch []rpc
	if err := json.Unmarshal(e.Payload, &batch); err != nil {
		t.Fatalf("%v: %s", err, e.Payload)
	}
	if len(batch) != 3 || string(batch[0].Result) != `{"sum":3}` || batch[1].Fault.Code != -32600 || string(batch[2].ID) != "3" || e.Correlation != "cli-1" {
		t.Errorf("got %s about %s", e.Payload, e.Correlation)
	}
	if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("the work ended because of %v", why)
	}
}

// introducedProgram is a program that offers a tool, in its introduction or in its list
// of tools. In the list, the tool is on the second page.
func introducedProgram(t *testing.T, h *gatewayHub, listed bool) *program {
	t.Helper()
	const tools = `[{"name":"paint","description":"paints","inputSchema":{"type":"object","required":["x"]}}]`
	p := h.program("py-tools")
	offer := tools
	if !listed {
		offer = "true"
	}
	p.ask(`"init"`, "", "initialize", `{"protocolVersion":"1.1","capabilities":{"tools":`+offer+`}}`)
	for range 3 {
		switch e := p.read(); {
		case string(e.ID) == `"init"` && listed:
			h.awaitVisible("py-tools")
			return p
		case e.Method == "tools/list" && string(e.Params) == "{}":
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"2"}}`, e.ID), "")
		case e.Method == "tools/list" && string(e.Params) == `{"cursor":"2"}`:
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, e.ID, tools), "")
		}
	}
	h.awaitVisible("py-tools")
	return p
}

// Agents find, call and cancel the tools of a program like those of any agent.
func TestGatewayProvidesTools(t *testing.T) {
	for name, listed := range map[string]bool{"listed": true, "asked for": false} {
		t.Run(name, func(t *testing.T) {
			h := newGatewayHub(t)
			p := introducedProgram(t, h, listed)
			found, err := h.Whisper(patience.Context(t), performatives.QueryCapabilities{
				Type: performatives.QuerySpecific, Parameters: performatives.QueryParameters{Capabilities: []string{"paint"}},
			})
			if err != nil || len(found) != 1 || found[0].Agent != "py-tools" || !found[0].Match {
				t.Errorf("found %+v, %v", found, err)
			}
			other := h.program("cli")
			other.ask("1", "py-tools", "tools/list", "{}")
			if got := fmt.Sprint(toolsOf(t, other.result("1"))); got != "[paint//true]" {
				t.Errorf("tools %s", got)
			}
			percent := make(chan float64, 1)
			d := start(t, h, delegation.WithProgress(func(u performatives.StatusUpdate) { percent <- *u.Progress }))
			id := called(t, p)
			p.notify("notifications/progress", `{"progressToken":`+id+`,"progress":3,"total":4}`)
			if got := <-percent; got != 75 {
				t.Errorf("progress %v", got)
			}
			p.send(`{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"painted"}]}}`, "")
			if got, err := d.Wait(); err != nil || got.Summary != "painted" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// start delegates from an agent of the node to the program.
func start(t *testing.T, h *gatewayHub, o ...codons.Option) *delegation.Delegated {
	t.Helper()
	d, err := delegation.Start(patience.Context(t), h, "py-tools", performatives.TaskRequest{
		TaskType: "paint", Parameters: performatives.RawContent([]byte(`{"x":1}`)),
	}, o...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// called reads the call of start, and returns its id.
func called(t *testing.T, p *program) string {
	t.Helper()
	e := p.read()
	if e.Method != "tools/call" || !strings.Contains(string(e.Params), `"name":"paint","arguments":{"x":1}`) {
		t.Fatalf("got %s", e.Payload)
	}
	return string(e.ID)
}

func TestGatewayProviderRefusesAndGoes(t *testing.T) {
	h := newGatewayHub(t)
	p := introducedProgram(t, h, true)

	d := start(t, h)
	p.send(`{"jsonrpc":"2.0","id":`+called(t, p)+`,"error":{"code":-32602,"message":"no such x"}}`, "")
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeInvalidPayload) || !strings.Contains(err.Error(), "no such x") {
		t.Errorf("refused: %v", err)
	}

	d = start(t, h)
	id := called(t, p)
	d.Cancel()
	if e := p.read(); e.Method != "notifications/cancelled" || !strings.Contains(string(e.Params), `"requestId":`+id) {
		t.Errorf("got %s", e.Payload)
	}
	p.send(`{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32603,"message":"stopped"}}`, "")
	var end *codons.EndError
	if _, err := d.Wait(); !errors.As(err, &end) || end.State != "cancelled" {
		t.Errorf("cancelled: %v", err)
	}

	d = start(t, h)
	called(t, p)
	_ = p.conn.Close()
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("disconnected: %v", err)
	}
	h.awaitStopped("py-tools", 1)

	p = introducedProgram(t, h, true)
	d = start(t, h)
	p.send(`{"jsonrpc":"2.0","id":`+called(t, p)+`,"result":{"content":[]}}`, "")
	if _, err := d.Wait(); err != nil {
		t.Errorf("come back: %v", err)
	}
}

// One port serves both dialects, one per connection, and an agent of one dialect can ask
// an agent of the other. Frames have an 8-byte header after gzip is agreed on.
func TestGatewayBesideACL(t *testing.T) {
	h, _ := newStaffedHub(t)
	p := h.program("cli")
	p.ask("1", "", "initialize", `{"protocolVersion":"2.0","supportedVersions":["1.0","2.0"],"capabilities":{"compression":["gzip"]}}`)
	if got := p.result("1"); !strings.Contains(got, `"protocolVersion":"1.0"`) || !strings.Contains(got, `"compression":["gzip"]`) {
		t.Fatalf("got %s", got)
	}
	p.gzip = true

	o := h.program("jules")
	o.write(`{"message_id":"m-1","performative":"QUERY_CAPABILITIES","sender":{"agent_id":"jules"},"receiver":{"agent_id":"system"},` +
		`"timestamp":"` + time.Now().UTC().Format(time.RFC3339) + `","payload":{"query_type":"summary","capabilities":{"topics":["Go"]}}}`)
	h.awaitVisible("jules")
	p.ask("2", "", "jules.review", `{"_meta":{"progressToken":2}}`)
	var got struct {
		Act    string `json:"performative"`
		ID     string `json:"message_id"`
		Sender struct {
			ID string `json:"agent_id"`
		} `json:"sender"`
	}
	for got.Act != "TASK_REQUEST" {
		got.Act = ""
		if err := json.Unmarshal(o.frame(), &got); err != nil {
			t.Fatal(err)
		}
	}
	o.write(`{"message_id":"m-2","performative":"INFORM_RESULT","sender":{"agent_id":"jules"},"receiver":{"agent_id":"` + got.Sender.ID + `"},"in_reply_to":"` + got.ID +
		`","timestamp":"` + time.Now().UTC().Format(time.RFC3339) + `","payload":{"task_status":"success","result_details":{"text":"` + strings.Repeat("fine ", 1000) + `"}}}`)
	if got := p.result("2"); !strings.Contains(got, "fine fine") {
		t.Errorf("got %s", got)
	}
	p.write("{")
	if code, wireCode, _ := p.fault("null"); code != -32700 || wireCode != "INVALID_REQUEST" {
		t.Errorf("%d %s", code, wireCode)
	}
}

// A peer cannot offer anything as an agent of the node. One that only asks is a client of its own,
// whatever its source.
func TestGatewayNames(t *testing.T) {
	h := newGatewayHub(t)
	h.spawn("Eliza", always(scripted{receive: func(*actors.Context, *performatives.Message) {}}))
	for _, name := range []string{"eliza", "system", "default", "hub"} {
		p := h.program(name)
		p.ask("1", "", "tools/list", "{}")
		p.result("1")
		p = h.program(name)
		p.ask("1", "", "initialize", `{"protocolVersion":"1.0","capabilities":{"tools":true}}`)
		if code, wireCode, _ := p.fault("1"); code != -32002 || wireCode != "FORBIDDEN" {
			t.Errorf("%s: %d %s", name, code, wireCode)
		}
	}
}
