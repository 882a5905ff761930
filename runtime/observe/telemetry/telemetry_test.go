package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const canary = "c4n4ry"

// worker performs tasks by a function.
type worker func(context.Context, delegation.Task) (performatives.InformResult, error)

func (worker) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w worker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	return w(ctx, t)
}

func succeed(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: canary}, nil
}

func fail(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{}, errors.New(canary)
}

func newNode(t testing.TB, agents map[performatives.AgentID]worker) *runtime.Node {
	t.Helper()
	n, err := runtime.New(runtime.Options{Tracing: &actors.Tracing{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for id, w := range agents {
		if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return w }); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func delegate(t testing.TB, n *runtime.Node, to performatives.AgentID) {
	t.Helper()
	_, _ = n.Delegate(patience.Context(t), to, performatives.TaskRequest{TaskType: "work", Description: canary})
}

// scraped returns the families that Prometheus's own parser reads from a scrape, and the text.
func scraped(t *testing.T, registry *prometheus.Registry) (map[string]*dto.MetricFamily, string) {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", answer.Status, text, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return families, string(text)
}

// samples returns the value of each sample of a counter, a gauge or a histogram whose labels
// include want.
func samples(f *dto.MetricFamily, want ...string) (all []float64) {
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		if slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(labels, w) }) {
			continue
		}
		switch {
		case m.GetCounter() != nil:
			all = append(all, m.GetCounter().GetValue())
		case m.GetHistogram() != nil:
			all = append(all, float64(m.GetHistogram().GetSampleCount()))
		default:
			all = append(all, m.GetGauge().GetValue())
		}
	}
	return all
}

func TestPrometheusScrape(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, map[performatives.AgentID]worker{"good": succeed, "bad": fail, canary + "-third": fail})
	tel, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), Agents: 2, Sessions: func() int { return 7 }})
	if err != nil {
		t.Fatal(err)
	}
	n.Events().Publish(events.MessageRefused{Refusal: &performatives.Refusal{Code: canary}})
	for _, reason := range []performatives.Code{machine.DropLate, machine.DropUndeliverable, canary} {
		n.Events().Publish(events.DeadLetter{Code: reason})
	}
	n.Events().Publish(lifecycle.JobFailed{Agent: "x1"})
	n.Events().Publish(lifecycle.JobFailed{Agent: "x2"})
	n.Events().Publish(lifecycle.Resent{Subject: &lifecycle.Subject{Protocol: "task-delegation", Role: 1}})
	if families, _ := scraped(t, registry); len(samples(families["ribosome_messages_resent_total"])) != 1 {
		t.Error("a scrape lacks what has happened before")
	}
	for _, to := range []performatives.AgentID{"nobody", "good", "bad"} {
		delegate(t, n, to)
	}
	// An event of a responder may follow that of the initiator.
	for deadline := time.Now().Add(time.Minute); ; {
		families, _ := scraped(t, registry)
		ended := 0.0
		for _, n := range samples(families["ribosome_conversations_ended_total"]) {
			ended += n
		}
		if ended == 5 || time.Now().After(deadline) {
			break
		}
	}
	families, text := scraped(t, registry)
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"ribosome_conversations_begun_total", []string{"ribosome_protocol=task-delegation", "ribosome_role=initiator"}, 3},
		{"ribosome_conversations_ended_total", []string{"ribosome_role=responder", "ribosome_state=completed"}, 1},
		{"ribosome_conversations_ended_total", []string{"ribosome_role=initiator", "error_type=execution_failed"}, 1},
		{"ribosome_conversation_duration_seconds", []string{"ribosome_role=responder", "ribosome_state=completed"}, 1},
		{"ribosome_job_duration_seconds", []string{"error_type=execution_failed"}, 1},
		{"ribosome_messages_refused_total", []string{"ribosome_code=other"}, 1},
		{"ribosome_messages_dead_lettered_total", []string{"ribosome_code=late"}, 1},
		{"ribosome_messages_dead_lettered_total", []string{"ribosome_code=undeliverable"}, 1},
		{"ribosome_messages_dead_lettered_total", []string{"ribosome_code=other"}, 1},
		{"ribosome_messages_resent_total", nil, 1},
		{"ribosome_sessions", nil, 7},
		{"ribosome_agents", []string{"ribosome_location=here"}, 4},
		{"ribosome_cluster_members", nil, 1},
		{"ribosome_cluster_links", []string{"ribosome_state=up"}, 0},
		{"ribosome_cluster_links", []string{"ribosome_state=down"}, 0},
		{"ribosome_telemetry_events_lost_total", nil, 0},
		{"ribosome_agents_busy_total", nil, 0},
		{"ribosome_notices_loops_total", nil, 0},
	} {
		if got := samples(families[want.name], want.labels...); len(got) != 1 || got[0] != want.value {
			t.Errorf("%s%v: %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	// Which two are told apart depends on who was seen first: x1 and x2 have no mailbox.
	if got := len(families["ribosome_agent_mailbox_depth"].GetMetric()); got == 0 || got%4 != 0 || got > 3*4 {
		t.Errorf("%d mailboxes and bands, want four bands of at most two agents and of the others", got)
	}
	// x1 and x2 do not run, and have given their places to agents that do.
	if got := samples(families["ribosome_agent_errors_total"]); len(got) != 1 || got[0] != 1 {
		t.Errorf("errors of agents: %v", got)
	}
	// The id of an agent is no secret, and one of two may be listed.
	if strings.Contains(strings.ReplaceAll(text, canary+"-third", ""), canary) {
		t.Errorf("a secret is in\n%s", text)
	}
	tel.Close()
	if families, _ := scraped(t, registry); families["ribosome_agents"] != nil {
		t.Error("the gauges are observed after the end")
	}
}

// The jobs that run are counted for each agent. The sides under way have begun, which counts once.
func TestRunningJobs(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	begun, end := make(chan struct{}), make(chan struct{})
	n := newNode(t, map[performatives.AgentID]worker{"idle": succeed, "busy": func(context.Context, delegation.Task) (performatives.InformResult, error) {
		begun <- struct{}{}
		<-end
		return performatives.InformResult{}, nil
	}})
	tel, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Close()
	var tasks sync.WaitGroup
	for range 2 {
		tasks.Go(func() { delegate(t, n, "busy") })
		<-begun
	}
	families, _ := scraped(t, registry)
	for agent, want := range map[string]float64{"busy": 2, "idle": 0} {
		if got := samples(families["ribosome_agent_jobs_running"], "gen_ai_agent_name="+agent); len(got) != 1 || got[0] != want {
			t.Errorf("%s runs %v, want %v", agent, got, want)
		}
	}
	begins := func() {
		t.Helper()
		families, _ := scraped(t, registry)
		for _, role := range []string{"initiator", "responder"} {
			if got := samples(families["ribosome_conversations_begun_total"], "ribosome_protocol=task-delegation", "ribosome_role="+role); len(got) != 1 || got[0] != 2 {
				t.Errorf("%v sides of the %s have begun, want 2", got, role)
			}
		}
	}
	begins()
	close(end)
	tasks.Wait()
	begins()
	if err := n.StopAgent(patience.Context(t), "busy"); err != nil { // its sides have ended
		t.Fatal(err)
	}
	begins()
}

// The page lists the metrics that there are, and no others.
func TestMetricsAreDocumented(t *testing.T) {
	names := regexp.MustCompile(`ribosome(\.[a-z_]+)+`)
	has := []string{telemetry.MetricSpansEnded, telemetry.MetricSpansExported, telemetry.MetricExportsFailed}
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, quoted := range regexp.MustCompile(`"(ribosome\..*?)"`).FindAllStringSubmatch(string(source), -1) {
		has = append(has, quoted[1])
	}
	for _, line := range regexp.MustCompile("(?m)^\\| (`ribosome\\..*?) \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, names.FindAllString(line[1], -1)...)
	}
	slices.Sort(has)
	slices.Sort(listed)
	if !slices.Equal(has, listed) {
		t.Errorf("the metrics are\n%q\nand docs/telemetry.md has\n%q", has, listed)
	}
}

// Agents that have stopped give their places to those that run. No error is lost or counted twice,
// and no counter goes back while its agent has its place.
func TestStoppedAgentsGivePlacesBack(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, nil)
	tel, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), Agents: 4})
	if err != nil {
		t.Fatal(err)
	}
	seen, told := map[string]float64{}, 0.0 // the sum of what has been added between reads, as rate() has it
	read := func() map[string]float64 {
		t.Helper()
		now := map[string]float64{}
		families, _ := scraped(t, registry)
		for _, m := range families["ribosome_agent_errors_total"].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "gen_ai_agent_name" {
					now[l.GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
		for name, v := range now {
			if told += v - seen[name]; v < seen[name] {
				t.Errorf("the errors of %s go from %v to %v", name, seen[name], v)
			}
		}
		seen = now
		return now
	}
	const short = 50
	for i := range short {
		id := performatives.AgentID(fmt.Sprint("job-", i))
		if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return worker(fail) }); err != nil {
			t.Fatal(err)
		}
		delegate(t, n, id)
		if err := n.StopAgent(patience.Context(t), id); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			read()
		}
	}
	if err := n.Spawn(patience.Context(t), "Important", func() actors.Agent { return worker(fail) }); err != nil {
		t.Fatal(err)
	}
	delegate(t, n, "Important")
	for i := range 2 { // the event of the failure follows the answer
		n.Events().Publish(lifecycle.JobFailed{Agent: "Important"})
		if now := read(); now["Important"] < float64(i+1) {
			t.Errorf("an agent that runs is one of the others: %v", now)
		}
	}
	if err := n.StopAgent(patience.Context(t), "Important"); err != nil {
		t.Fatal(err)
	}
	tel.Close()
	if read(); told != short+3 {
		t.Errorf("%v errors are counted, want %d", told, short+3)
	}
}

// receiver is an OTLP receiver over HTTP.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
	raw   []byte
}

func newReceiver(t *testing.T, before func()) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		before()
		var request collector.ExportTraceServiceRequest
		if err := errors.Join(err, proto.Unmarshal(body, &request)); err != nil || q.URL.Path != "/v1/traces" {
			http.Error(w, "no request of OTLP", http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw = append(r.raw, body...)
		for _, resource := range request.GetResourceSpans() {
			for _, s := range resource.GetScopeSpans() {
				r.spans = append(r.spans, s.GetSpans()...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func newProvider(t *testing.T, r *receiver, o ...sdktrace.BatchSpanProcessorOption) *sdktrace.TracerProvider {
	t.Helper()
	exporter, err := otlptracehttp.New(patience.Context(t), otlptracehttp.WithEndpointURL(r.URL+"/v1/traces"), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, o...), sdktrace.WithIDGenerator(telemetry.IDs{}))
}

// exported returns the spans that the receiver has got when the agents have stopped, and so their
// sides have ended, and all is exported. The canary is in none.
func exported(t *testing.T, r *receiver, n *runtime.Node, tel *telemetry.Telemetry, provider *sdktrace.TracerProvider, agents ...performatives.AgentID) []*otlp.Span {
	t.Helper()
	for _, id := range agents {
		if err := n.StopAgent(patience.Context(t), id); err != nil {
			t.Fatal(err)
		}
	}
	tel.Close()
	if err := provider.Shutdown(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(string(r.raw), canary) {
		t.Error("a secret is in a span")
	}
	return r.spans
}

// A receiver of OTLP gets the tree of a task: each side below the one that asked it, and what a job
// asks below the job.
func TestSpansOverOTLP(t *testing.T) {
	r := newReceiver(t, func() {})
	provider := newProvider(t, r)
	n := newNode(t, map[performatives.AgentID]worker{
		"leaf": fail,
		"top": func(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
			_, own := provider.Tracer("program").Start(telemetry.ContextOf(ctx), "own")
			own.End()
			_, err := delegation.Delegate(ctx, t.Agent, "leaf", performatives.TaskRequest{TaskType: "work", Description: canary})
			return performatives.InformResult{}, err
		},
	})
	tel, err := telemetry.New(n, telemetry.Options{Tracers: provider})
	if err != nil {
		t.Fatal(err)
	}
	delegate(t, n, "top")
	spans := exported(t, r, n, tel, provider, "top", "leaf")
	var chain []string
	var parent []byte
	for range len(spans) {
		i := slices.IndexFunc(spans, func(s *otlp.Span) bool {
			return s.GetName() != "own" && string(s.GetParentSpanId()) == string(parent)
		})
		if i < 0 {
			break
		}
		s := spans[i]
		attributes := map[string]string{}
		for _, a := range s.GetAttributes() {
			attributes[a.GetKey()] = a.GetValue().GetStringValue()
		}
		chain = append(chain, s.GetName()+" "+s.GetKind().String()+" "+attributes["gen_ai.agent.name"]+" "+attributes["error.type"])
		if attributes["gen_ai.conversation.id"] == "" || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() || string(s.GetTraceId()) != string(spans[0].GetTraceId()) {
			t.Errorf("%v", s)
		}
		parent = s.GetSpanId()
		if strings.HasPrefix(s.GetName(), "task-delegation") && attributes["gen_ai.agent.name"] == "top" {
			if !slices.ContainsFunc(spans, func(own *otlp.Span) bool {
				return own.GetName() == "own" && string(own.GetParentSpanId()) == string(parent)
			}) {
				t.Error("the program's span is not below the job")
			}
		}
	}
	want := []string{
		"invoke_agent top SPAN_KIND_CLIENT top execution_failed", "invoke_agent top SPAN_KIND_SERVER top execution_failed",
		"task-delegation perform SPAN_KIND_INTERNAL top execution_failed",
		"invoke_agent leaf SPAN_KIND_CLIENT leaf execution_failed", "invoke_agent leaf SPAN_KIND_SERVER leaf execution_failed",
		"task-delegation perform SPAN_KIND_INTERNAL leaf execution_failed",
	}
	if !slices.Equal(chain, want) {
		t.Errorf("%q", chain)
	}
}

// toolbox is an agent with the tool add.
type toolbox struct{ *tool.Tools }

// The span of a job that calls a tool has the name of the tool. A name that only the caller knows
// is in no span.
func TestSpanOfATool(t *testing.T) {
	r := newReceiver(t, func() {})
	provider := newProvider(t, r)
	n := newNode(t, nil)
	add, err := tool.New("Add", "", func(_ context.Context, in struct{ A int }) (struct{ Sum int }, error) {
		return struct{ Sum int }{in.A}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewSet(add)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(patience.Context(t), "till", func() actors.Agent { return toolbox{tools} }); err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(n, telemetry.Options{Tracers: provider})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Call[any, any](patience.Context(t), n, "till", "add", struct{ A int }{3}); err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Call[map[string]any, any](patience.Context(t), n, "till", canary, map[string]any{}); err == nil {
		t.Error("there is a tool that is not there")
	}
	var got []string
	for _, s := range exported(t, r, n, tel, provider, "till") {
		for _, a := range s.GetAttributes() {
			if a.GetKey() == "gen_ai.tool.name" || a.GetKey() == "gen_ai.operation.name" && s.GetKind() == otlp.Span_SPAN_KIND_INTERNAL {
				got = append(got, s.GetName()+": "+a.GetKey()+" "+a.GetValue().GetStringValue())
			}
		}
	}
	slices.Sort(got)
	want := []string{"execute_tool Add: gen_ai.operation.name execute_tool", "execute_tool Add: gen_ai.tool.name Add", "execute_tool: gen_ai.operation.name execute_tool"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A receiver that does not answer delays no delegation.
func TestStalledReceiver(t *testing.T) {
	stalled, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r := newReceiver(t, func() {
		once.Do(func() { close(stalled) })
		<-release
	})
	provider := newProvider(t, r, sdktrace.WithMaxQueueSize(2), sdktrace.WithMaxExportBatchSize(1))
	n := newNode(t, map[performatives.AgentID]worker{"w": succeed})
	tel, err := telemetry.New(n, telemetry.Options{Tracers: provider})
	if err != nil {
		t.Fatal(err)
	}
	delegate(t, n, "w")
	<-stalled
	for range 50 {
		if _, err := n.Delegate(patience.Context(t), "w", performatives.TaskRequest{TaskType: "work"}); err != nil {
			t.Fatal(err)
		}
	}
	tel.Close() // also the goroutine of the telemetry was not delayed
	close(release)
	if err := provider.Shutdown(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.spans); n == 0 || n > 20 {
		t.Errorf("%d spans of 51 delegations arrived from a queue of two", n)
	}
}

// A full queue loses events, which are counted.
func TestLost(t *testing.T) {
	n := newNode(t, nil)
	tel, err := telemetry.New(n, telemetry.Options{Meters: noop.NewMeterProvider(), Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Close()
	for deadline := time.Now().Add(time.Minute); tel.Lost() == 0 && time.Now().Before(deadline); {
		n.Events().Publish(lifecycle.Ended{Subject: &lifecycle.Subject{}})
	}
	if tel.Lost() == 0 {
		t.Error("nothing was lost")
	}
}

func TestOptionsRefused(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Stop(context.Background()) }()
	for want, o := range map[string]telemetry.Options{
		"at least one provider":   {},
		"Options.Queue is -1":     {Meters: noop.NewMeterProvider(), Queue: -1},
		"Options.Agents is -1":    {Meters: noop.NewMeterProvider(), Agents: -1},
		"runtime.Options.Tracing": {Tracers: sdktrace.NewTracerProvider()},
	} {
		if _, err := telemetry.New(n, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Counts reach the counters when the metrics are read, also those of labels beyond the number that
// is kept.
func TestCountsOfManyLabels(t *testing.T) {
	const most = 5000
	n := newNode(t, nil)
	reader := sdkmetric.NewManualReader()
	x, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(2*most)), Queue: 4 * most})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range 2 {
		for i := range most {
			of := &lifecycle.Subject{Protocol: strconv.Itoa(i)}
			n.Events().Publish(lifecycle.Ended{Subject: of, State: "answered"})
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(patience.Context(t), &all); err != nil {
		t.Fatal(err)
	}
	sums := map[string][]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if s, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, p := range s.DataPoints {
					sums[m.Name] = append(sums[m.Name], p.Value)
				}
			}
		}
	}
	for _, name := range []string{"ribosome.conversations.begun", "ribosome.conversations.ended"} {
		if got := sums[name]; len(got) != most || slices.Min(got) != 2 || slices.Max(got) != 2 || x.Lost() != 0 {
			t.Errorf("%s has %d series, lost %d: %v", name, len(got), x.Lost(), sums)
		}
	}
}

// The span of a failed job has the type, the masked text and the stack of its error where contents
// are exported. A refusal is no failure.
func TestFailuresInSpans(t *testing.T) {
	masked := func(text string) string { return strings.ReplaceAll(text, canary, "***") }
	for name, o := range map[string]telemetry.Options{"content": {FailureText: masked}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, func() {})
			provider := newProvider(t, r)
			n := newNode(t, map[performatives.AgentID]worker{
				"wrong": fail,
				"panicky": func(context.Context, delegation.Task) (performatives.InformResult, error) {
					panic(errors.New("oh " + canary))
				},
				"refuser": func(context.Context, delegation.Task) (performatives.InformResult, error) {
					return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeIncapable, Text: canary}
				},
			})
			o.Tracers = provider
			tel, err := telemetry.New(n, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []performatives.AgentID{"wrong", "panicky", "refuser"} {
				delegate(t, n, id)
			}
			got := map[string]string{}
			for _, s := range exported(t, r, n, tel, provider, "wrong", "panicky", "refuser") {
				for _, e := range s.GetEvents() {
					of := map[string]string{}
					for _, a := range slices.Concat(e.GetAttributes(), s.GetAttributes()) {
						of[a.GetKey()] = a.GetValue().GetStringValue()
					}
					if strings.Contains(of["exception.stacktrace"], "telemetry_test.go") {
						of["exception.stacktrace"] = "stack"
					}
					got[of["gen_ai.agent.name"]] = strings.Join([]string{s.GetName(), e.GetName(), of["exception.type"], of["exception.message"], of["exception.stacktrace"]}, "|")
				}
			}
			want := map[string]string{
				"wrong":   "task-delegation perform|exception|*errors.errorString|***|",
				"panicky": "task-delegation perform|exception|*errors.errorString|actors: panic: oh ***|stack",
			}
			if o.FailureText == nil {
				want = map[string]string{}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// An agent that runs keeps its place. That of one that stops goes to another after the next read.
func TestRunningAgentsKeepPlaces(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, map[performatives.AgentID]worker{"a": fail, "b": fail, "c": fail})
	tel, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), Agents: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Close()
	for _, id := range []performatives.AgentID{"a", "b", "c"} {
		n.Events().Publish(lifecycle.JobFailed{Agent: id})
	}
	families, _ := scraped(t, registry)
	for _, name := range []string{"a", "b", "other"} {
		if got := samples(families["ribosome_agent_errors_total"], "gen_ai_agent_name="+name); len(got) != 1 || got[0] != 1 {
			t.Errorf("%s has %v errors, want 1", name, got)
		}
	}
	if err := n.StopAgent(patience.Context(t), "a"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		families, _ = scraped(t, registry)
	}
	bands := families["ribosome_agent_mailbox_depth"]
	if all, rest := len(samples(bands)), len(samples(bands, "gen_ai_agent_name=other")); all != 2*4 || rest != 0 {
		t.Errorf("%d bands, %d of them of the others, want those of b and c", all, rest)
	}
}
