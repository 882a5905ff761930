package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// passer is an agent that has each of its tasks done by another agent.
type passer struct{ to performatives.AgentID }

func (passer) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"digging"}}
}

func (passer) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (r passer) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	return delegation.Delegate(ctx, t.Agent, r.to, performatives.TaskRequest{TaskType: "dig", Description: "a hole"})
}

// passes is the swarm of one passer.
func passes(id, to performatives.AgentID) runtime.Swarm {
	return runtime.Swarm{Name: strings.ToLower(string(id)), Purpose: "An agent that passes its tasks on.", Spawn: func(ctx context.Context, n *runtime.Node) error {
		return n.Spawn(ctx, id, func() actors.Agent { return passer{to} })
	}}
}

// ragFrame is a message of the rag dialect.
type ragFrame struct {
	Type      string         `json:"type"`
	Sender    string         `json:"sender"`
	Receiver  string         `json:"receiver"`
	Trace     string         `json:"trace_id"`
	Timestamp string         `json:"timestamp"`
	Payload   map[string]any `json:"payload"`
	Metadata  struct {
		Trace string `json:"trace"`
	} `json:"metadata"`
}

// One trace goes from a peer of acl through an agent on one node and an agent on another to a peer
// of rag: each span has the parent that the message before it names, and each peer sees the trace
// in its own dialect.
func TestTraceThroughNodesAndDialects(t *testing.T) {
	t.Chdir(t.TempDir())
	before := swarms
	t.Cleanup(func() { swarms = before })
	swarms = func(*nodeCmd) runtime.Swarms {
		return runtime.Swarms{passes("First", "Second"), passes("Second", "Far")}
	}
	c := collects(t)
	member := func(name, swarm string, args ...string) begun {
		return hosts(t, append([]string{"--no-auth", "--name", name, "--swarm", swarm, "--gossip", "127.0.0.1:0", "--profile", "wan", "--otlp", c.URL}, args...)...)
	}
	one := member("one", "first")
	_, gossip, _ := strings.Cut(one.shows(&one.stdout, "gossiping on "), "gossiping on ")
	gossip, _, _ = strings.Cut(gossip, "\n")
	two := member("two", "second", "--join", gossip)

	far, err := net.Dial("tcp", strings.TrimPrefix(two.at["tcp"], "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	if err := far.SetDeadline(time.Now().Add(patience.Time)); err != nil {
		t.Fatal(err)
	}
	exchangeFrame(t, far, `{"type":"AGENT_REGISTRATION","sender":"Far","receiver":"System","trace_id":"far-registration-001","timestamp":"2025-01-30T10:30:00Z",
		"payload":{"agent_id":"Far","agent_type":"digger","capabilities":["dig"],"message_types":["DIG"],"status":"active"}}`)
	for late := time.Now().Add(patience.Time); !strings.Contains(runs(t, "agents", "--addr", one.at["tcp"]).stdout, "Second"); {
		if time.Now().After(late) {
			t.Fatal("node one does not learn of Second")
		}
	}

	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	caller, err := (&clientFlags{Addr: one.at["tcp"], As: "Ana"}).plan(io.Discard)
	if err == nil {
		err = caller.join(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer caller.leave()
	request, err := performatives.New(performatives.Envelope{
		ID: performatives.NewID(), ConversationID: "asked", Timestamp: time.Now(), Performative: performatives.ActTaskRequest, Protocol: delegation.Codon.Name(),
		Sender: "Ana", Receiver: "First", Trace: "00-" + trace + "-" + span + "-01", Payload: performatives.TaskRequest{TaskType: "dig"},
	})
	if err == nil {
		err = caller.Self().Send(request)
	}
	if err != nil {
		t.Fatal(err)
	}
	var task ragFrame
	if err := json.Unmarshal(readFrame(t, far), &task); err != nil || task.Type != "DIG" || task.Sender != "Second" {
		t.Fatalf("%v: Far gets %+v", err, task)
	}
	writeFrame(t, far, fmt.Sprintf(`{"type":"DIG_RESULT","sender":"Far","receiver":"Second","trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":{"depth":7}}`, task.Trace))
	one.shows(&one.stderr, `"conversation":"asked","protocol":"task-delegation","role":"responder","from":"working","to":"completed"`)
	_ = far.Close() // a node that stops waits for its peers
	for _, n := range []begun{two, one} {
		if r := n.end(); r.code != exitDone || strings.Contains(r.stderr, "did not reach") {
			t.Errorf("got %+v", r)
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	var path []string
	parent := span
	for {
		i := slices.IndexFunc(c.spans, func(s *traces.Span) bool {
			return hex.EncodeToString(s.GetTraceId()) == trace && hex.EncodeToString(s.GetParentSpanId()) == parent
		})
		if i < 0 {
			break
		}
		s := c.spans[i]
		parent = hex.EncodeToString(s.GetSpanId())
		path = append(path, strings.Join([]string{c.nodes[i], strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"), s.GetName(), textOf(s.GetAttributes(), "gen_ai.agent.name"), s.GetStatus().GetMessage()}, " "))
	}
	want := []string{
		"one SERVER invoke_agent First First ",
		"one INTERNAL task-delegation perform First ",
		"one CLIENT invoke_agent Second Second ",
		"two SERVER invoke_agent Second Second ",
		"two INTERNAL task-delegation perform Second ",
		"two CLIENT invoke_agent Far Far ",
	}
	if !slices.Equal(path, want) {
		t.Errorf("the trace is\n%s\nof %v", strings.Join(path, "\n"), c.spans)
	}
	if task.Metadata.Trace != "00-"+trace+"-"+parent+"-01" {
		t.Errorf("Far gets the traceparent %q, and the last span is %s", task.Metadata.Trace, parent)
	}
	if n := len(path); len(c.spans) != n {
		t.Errorf("%d spans are not in the trace: %v", len(c.spans)-n, c.spans)
	}
}
