package collector

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// embedded is a node in this process that exports its spans as docs/telemetry.md says.
type embedded struct {
	*runtime.Node
	close func() // exports all of its spans
}

// embed starts a node that joins a cluster.
func embed(t *testing.T, r *receiver, name, join string) embedded {
	t.Helper()
	node, err := runtime.New(runtime.Options{Name: name, Tracing: &actors.Tracing{}, Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: []string{join}}})
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { _ = node.Stop(context.Background()) }
	t.Cleanup(stop)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(r.url+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	as := resource.NewSchemaless(attribute.String("service.name", "embedder"), attribute.String("service.instance.id", name))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(telemetry.IDs{}), sdktrace.WithResource(as))
	spans, err := telemetry.New(node, telemetry.Options{Tracers: tracers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(spans.Close)
	return embedded{node, func() {
		stop()
		spans.Close()
		if err := tracers.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}}
}

// knows waits until the node can find an agent.
func (e embedded) knows(t *testing.T, id performatives.AgentID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	announced := e.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
	defer announced.Close()
	for !slices.Contains(e.Directory().IDs(), id) {
		if _, err := announced.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// calculator is an agent with the tool add.
type calculator struct{ *tool.Tools }

type terms struct{ A, B int }

type sum struct{ Sum int }

func add(_ context.Context, in terms) (sum, error) { return sum{in.A + in.B}, nil }

// A trace goes on from a node that a program embeds to a node of the cluster that is a process:
// each of the two exports its own spans, and the spans of one have parents among those of the
// other. The span of a tool has its name.
func (p program) testNodes(t *testing.T) {
	r := receive(t)
	n := p.start(t, nil, "--name", "one", "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--otlp", r.url, "--metrics-interval", often)
	two := embed(t, r, "two", n.line(&n.stdout, "gossiping on "))
	two.knows(t, "Eddy")
	resources := map[string]string{"one": "service.instance.id=one service.name=ribosome", "two": "service.instance.id=two service.name=embedder"}
	r.awaitCounts(t, "one", resources, map[string]map[string]uint64{
		"ribosome.cluster.members": {"": 2}, "ribosome.cluster.links": {"ribosome.state=up": 1, "ribosome.state=down": 0},
	})

	data, err := os.ReadFile(script[1:])
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	task := performatives.TaskRequest{TaskType: "debug_code", Parameters: performatives.ContentOf(json.RawMessage(data))}
	if result, err := delegation.Delegate(ctx, two, "Eddy", task); err != nil || result.Status != performatives.StatusSuccess {
		t.Fatalf("%+v, %v", result, err)
	}
	adder, err := tool.New("add", "adds two numbers", add)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewSet(adder)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Spawn(ctx, "Calc", func() actors.Agent { return calculator{tools} }); err != nil {
		t.Fatal(err)
	}
	if got, err := tool.Call[terms, sum](ctx, two, "Calc", "add", terms{A: 2, B: 3}); err != nil || got.Sum != 5 {
		t.Fatalf("%v, %v", got, err)
	}
	two.close()
	n.end()
	r.stop()
	below := strings.ReplaceAll("  "+strings.TrimSpace(eddysTask("one", "two")), "\n", "\n  ")
	wantTree(t, r.spansOf(t, resources), `two Client invoke_agent Eddy: gen_ai.conversation.id=#1 gen_ai.agent.name=Eddy gen_ai.operation.name=invoke_agent ribosome.peer=Eddy ribosome.protocol=task-delegation ribosome.role=initiator ribosome.state=completed
`+below+`
two Client invoke_agent Calc: gen_ai.conversation.id=#5 gen_ai.agent.name=Calc gen_ai.operation.name=invoke_agent ribosome.peer=Calc ribosome.protocol=tool-call ribosome.role=initiator ribosome.state=answered
  two Server invoke_agent Calc: gen_ai.conversation.id=#5 gen_ai.agent.name=Calc gen_ai.operation.name=invoke_agent ribosome.peer=two ribosome.protocol=tool-call ribosome.role=responder ribosome.state=answered
    two Internal execute_tool add: gen_ai.conversation.id=#5 gen_ai.agent.name=Calc gen_ai.operation.name=execute_tool gen_ai.tool.name=add ribosome.job=answer ribosome.peer=two ribosome.protocol=tool-call ribosome.role=responder`)
}

// A collector gets that a link is down while the other node lives: nothing listens where that one
// says that it accepts links.
func (p program) testDown(t *testing.T) {
	r := receive(t)
	n := p.start(t, nil, "--name", "one", "--grpc", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--otlp", r.url, "--metrics-interval", often)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	// Of two nodes, the one with the smaller name opens the link.
	two, err := runtime.New(runtime.Options{Name: "two", Cluster: &runtime.ClusterOptions{
		Gossip: "127.0.0.1:0", Join: []string{n.line(&n.stdout, "gossiping on ")}, Links: closed.Addr().String(), Accept: func(func(*grpc.LinkStream)) {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { _ = two.Stop(context.Background()) }
	t.Cleanup(stop)
	resources := map[string]string{"one": "service.instance.id=one service.name=ribosome"}
	r.awaitCounts(t, "one", resources, map[string]map[string]uint64{
		"ribosome.cluster.members": {"": 2}, "ribosome.cluster.links": {"ribosome.state=up": 0, "ribosome.state=down": 1},
	})
	stop() // else the other node waits for the link as it stops
	r.awaitCounts(t, "one", resources, map[string]map[string]uint64{
		"ribosome.cluster.members": {"": 1}, "ribosome.cluster.links": {"ribosome.state=up": 0, "ribosome.state=down": 0},
	})
	n.end()
}
