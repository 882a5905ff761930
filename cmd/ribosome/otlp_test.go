package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	metricsrequest "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracesrequest "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// otlpCollector takes the spans and the metrics of nodes, as the official messages of OTLP say.
type otlpCollector struct {
	*httptest.Server
	came chan struct{} // has an element after a request

	mu      sync.Mutex
	spans   []*traces.Span
	nodes   []string                              // service.instance.id, one for each span
	metrics map[string]map[string]*metrics.Metric // the latest, by service.instance.id and name
	auth    []string                              // the header Authorization of each request
	paths   []string
	raw     []byte // the bodies of all requests
}

func collects(t *testing.T) *otlpCollector {
	t.Helper()
	c := &otlpCollector{came: make(chan struct{}, 1), metrics: map[string]map[string]*metrics.Metric{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.auth, c.paths, c.raw = append(c.auth, r.Header.Get("Authorization")), append(c.paths, r.URL.Path), append(c.raw, body...)
		switch path.Base(r.URL.Path) {
		case "traces":
			err = errors.Join(err, c.takeSpans(body))
		case "metrics":
			err = errors.Join(err, c.takeMetrics(body))
		default:
			err = errors.New("no path of OTLP")
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		select {
		case c.came <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *otlpCollector) takeSpans(body []byte) error {
	var request tracesrequest.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return err
	}
	for _, of := range request.GetResourceSpans() {
		for _, s := range of.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				c.spans, c.nodes = append(c.spans, span), append(c.nodes, textOf(of.GetResource().GetAttributes(), "service.instance.id"))
			}
		}
	}
	return nil
}

func (c *otlpCollector) takeMetrics(body []byte) error {
	var request metricsrequest.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return err
	}
	for _, of := range request.GetResourceMetrics() {
		node := textOf(of.GetResource().GetAttributes(), "service.instance.id")
		if c.metrics[node] == nil {
			c.metrics[node] = map[string]*metrics.Metric{}
		}
		for _, s := range of.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				c.metrics[node][m.GetName()] = m
			}
		}
	}
	return nil
}

// textOf returns the text of an attribute.
func textOf(all []*common.KeyValue, name string) string {
	for _, a := range all {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// await waits for requests until the collector has something.
func (c *otlpCollector) await(t *testing.T, has func() bool) {
	t.Helper()
	late := time.After(patience.Time)
	for {
		c.mu.Lock()
		done := has()
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.came:
		case <-late:
			c.mu.Lock()
			defer c.mu.Unlock()
			t.Fatalf("after %v, the spans are %v, the metrics %v", c.paths, c.spans, c.metrics)
		}
	}
}

// A node exports its metrics, without and with an interface for scrapes: what is there at each
// interval, and the counts at the end. Nothing of the contents of messages is in them.
func TestMetricsByOTLP(t *testing.T) {
	t.Chdir(t.TempDir())
	c := collects(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+anasToken)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	begin := func(name string, args ...string) begun {
		return hosts(t, append([]string{"--no-auth", "--name", name, "--swarm", "eddyjules", "--otlp", c.URL + "/below/"}, args...)...)
	}
	often, once := begin("often", "--metrics-interval", "20ms"), begin("once", "--metrics-interval", "1h", "--http", "127.0.0.1:0")
	for _, n := range []begun{often, once} {
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	c.await(t, func() bool { // while the node runs
		depth := c.metrics["often"]["ribosome.agent.mailbox.depth"].GetGauge().GetDataPoints()
		return len(depth) > 0 && c.metrics["often"]["ribosome.job.duration"].GetHistogram() != nil && c.metrics["often"]["ribosome.sessions"] != nil
	})
	scraper, url := browser(t, nil), served(once.running)
	for late := time.Now().Add(patience.Time); measured(t, scraper, url, "ribosome_telemetry_spans_ended_total") == 0; { // the counts of the exports can be scraped, too
		if time.Now().After(late) {
			t.Fatal("no span is counted")
		}
	}
	for _, n := range []begun{often, once} {
		r := n.end()
		if r.code != exitDone || strings.Contains(r.stderr, "did not reach") {
			t.Errorf("got %+v", r)
		}
		noSecrets(t, r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, node := range []string{"often", "once"} {
		sides := map[string]int64{}
		for _, p := range c.metrics[node]["ribosome.conversations.ended"].GetSum().GetDataPoints() {
			sides[textOf(p.GetAttributes(), "ribosome.role")+" "+textOf(p.GetAttributes(), "ribosome.state")] += p.GetAsInt()
		}
		jobs := uint64(0)
		for _, p := range c.metrics[node]["ribosome.job.duration"].GetHistogram().GetDataPoints() {
			jobs += p.GetCount()
		}
		failed := c.metrics[node]["ribosome.telemetry.metrics.failed"].GetSum().GetDataPoints()
		if sides["responder completed"] != 1 || jobs != 1 || len(failed) != 1 || failed[0].GetAsInt() != 0 {
			t.Errorf("%s has %v, %d jobs and %v", node, sides, jobs, c.metrics[node])
		}
	}
	for i, p := range c.paths {
		if p != "/below"+otlpTraces && p != "/below"+otlpMetrics || c.auth[i] != "Bearer "+anasToken {
			t.Errorf("a request to %s with %q", p, c.auth[i])
		}
	}
	if text := string(c.raw); strings.Contains(text, "Traceback") || !strings.Contains(text, "deployment.environment.name") {
		t.Error("the content of a message is in it, or the attributes of the resource are not")
	}
}

// A node exports the traces of its conversations. Nothing of their contents is in them, and the
// headers of the variable go along.
func TestTraces(t *testing.T) {
	t.Chdir(t.TempDir())
	c := collects(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+anasToken)
	n := hosts(t, "--no-auth", "--name", "traced", "--swarm", "eddyjules", "--otlp", c.URL, "--http", "127.0.0.1:0")
	if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	ended := 0.0
	for late := time.Now().Add(patience.Time); ended == 0 && time.Now().Before(late); { // events are counted a little later
		ended = measured(t, browser(t, nil), served(n.running), "ribosome_telemetry_spans_ended_total")
	}
	r := n.end()
	if r.code != exitDone || strings.Contains(r.stderr, "did not reach") {
		t.Errorf("got %+v", r)
	}
	noSecrets(t, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.spans, func(s *traces.Span) bool { return s.GetName() == "invoke_agent Jules" })
	if ended == 0 || i < 0 || c.nodes[i] != "traced" || c.auth[0] != "Bearer "+anasToken || !slices.Contains(c.paths, otlpTraces) {
		t.Errorf("%v ended, at %v of %v with %v, the spans are %v", ended, c.paths, c.nodes, c.auth, c.spans)
	}
	for _, s := range c.spans {
		if text := s.String(); strings.Contains(text, "Traceback") {
			t.Errorf("a span has the content of a message: %s", text)
		}
	}
}

// A collector that does not answer delays neither calls nor the end of the node, and what it did
// not get is counted.
func TestStalledCollector(t *testing.T) {
	t.Chdir(t.TempDir())
	release := make(chan struct{})
	stalled := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer stalled.Close()
	defer close(release)
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--otlp", stalled.URL+"/below/v1/traces", "--stop-timeout", "2s")
	for range 3 {
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	r := n.end()
	slow := strings.Contains(r.stderr, "had not stopped after 2s") // the rest of the node took all of the time, and no last export of metrics began
	for want, needed := range map[string]bool{
		"spans did not reach " + stalled.URL + "/below/v1/traces": true, "1 of 1 exports of metrics did not reach " + stalled.URL + "/below/v1/metrics": !slow,
	} {
		if r.code != exitDone || !strings.Contains(r.stderr, want) && needed {
			t.Errorf("got %+v, want %s", r, want)
		}
	}
}

// A collector that is not there, or takes no metrics, is logged once.
func TestNoCollector(t *testing.T) {
	t.Chdir(t.TempDir())
	gone := httptest.NewServer(http.NotFoundHandler())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--otlp", gone.URL)
	for range 2 {
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	r := n.end()
	gone.Close()
	if r.code != exitDone || strings.Count(r.stderr, "takes no traces") != 1 || !strings.Contains(r.stderr, "spans did not reach "+gone.URL) {
		t.Errorf("got %+v", r)
	}
}

// failingExporter is an exporter that fails as often as it says.
type failingExporter int

func (f *failingExporter) Shutdown(context.Context) error { return nil }

func (f *failingExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	if *f--; *f < 0 {
		return nil
	}
	return errors.New("no")
}

// A collector that goes on failing is logged once, and again when it takes traces.
func TestCollectorComesBack(t *testing.T) {
	var log bytes.Buffer
	fails := failingExporter(3)
	of := &delivery{what: "traces", log: slog.New(slog.NewTextHandler(&log, nil)), url: "x"}
	e := &deliveredSpans{SpanExporter: &fails, of: of}
	for i := range 5 {
		if err := e.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 2)); (err != nil) != (i < 3) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if strings.Count(log.String(), "takes no traces") != 1 || strings.Count(log.String(), "takes traces again") != 1 || of.taken.Load() != 4 {
		t.Errorf("%d arrived, and the log is\n%s", of.taken.Load(), log.String())
	}
}

// cancelledExporter is an exporter whose export ends when its context does.
type cancelledExporter struct{ sdkmetric.Exporter }

func (cancelledExporter) Export(ctx context.Context, _ *metricdata.ResourceMetrics) error {
	<-ctx.Done()
	return ctx.Err()
}

// An export that the end of the node cancels is not lost, because the last one has its counts; one
// that takes too long is.
func TestCancelledExport(t *testing.T) {
	var log bytes.Buffer
	of := &delivery{what: "metrics", log: slog.New(slog.NewTextHandler(&log, nil))}
	e := &deliveredMetrics{cancelledExporter{}, of}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Export(cancelled, nil); err == nil || of.lost() != 0 || log.Len() != 0 {
		t.Errorf("%v, %d are lost, and the log is %s", err, of.lost(), log.String())
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := e.Export(late, nil); err == nil || of.lost() != 1 || !strings.Contains(log.String(), "takes no metrics") {
		t.Errorf("%v, %d are lost, and the log is %s", err, of.lost(), log.String())
	}
}

// The text of a failed job is exported with --otlp-content only, and masked as --mask says.
func TestContentOfFailures(t *testing.T) {
	for _, content := range []bool{false, true} {
		of := collects(t)
		c := &nodeCmd{Name: "n", logFlags: logFlags{Mask: []string{"card"}}, otlpFlags: otlpFlags{OTLP: of.URL, TraceRatio: 1, OTLPContent: content}}
		n, err := runtime.New(runtime.Options{Name: "n", Tracing: c.tracing()})
		if err != nil {
			t.Fatal(err)
		}
		p := &endpoint{node: n, log: slog.New(slog.DiscardHandler)}
		if err := p.observe(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		n.Events().Publish(lifecycle.JobEnded{
			At: events.At{Time: now}, Subject: &lifecycle.Subject{Agent: "W", Conversation: "c", Protocol: "p"}, Job: "perform", Began: now, Code: performatives.CodeInternal,
			Span: lifecycle.Span{Trace: lifecycle.TraceID{1}, ID: lifecycle.SpanID{1}, Sampled: true}, Err: errors.New("no card=4711 and no password=hunter2"),
		})
		p.observers.close(t.Context())
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		of.mu.Lock()
		all := string(of.raw)
		of.mu.Unlock()
		if !strings.Contains(all, "perform") || strings.Contains(all, "no card=*** and no password=***") != content || strings.Contains(all, "hunter2") || strings.Contains(all, "4711") {
			t.Errorf("with content: %v, the collector has %q", content, all)
		}
	}
}

func TestTraceFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"add --otlp":                        {"--trace-ratio", "0.5"},
		"--otlp-content is about traces":    {"--otlp-content"},
		"or scrape /metrics":                {"--metrics-interval", "10s"},
		"want an address without a query":   {"--otlp", "http://127.0.0.1:4318/?a=b"},
		"want an address such as http://":   {"--otlp", "127.0.0.1:4318"},
		"want a part above 0":               {"--otlp", "http://127.0.0.1:4318", "--trace-ratio", "0"},
		"--trace-ratio 2: want a part":      {"--otlp", "http://127.0.0.1:4318", "--trace-ratio", "2"},
		"a password in an address is seen":  {"--otlp", "http://ann:" + anasToken + "@127.0.0.1:4318"},
		"https, want an address such as ht": {"--otlp", "https, "},
	} {
		r := runs(t, append([]string{"node", "--no-auth", "--tcp", "127.0.0.1:0"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, strings.TrimPrefix(want, "https, ")) {
			t.Errorf("%v: %+v", args, r)
		}
		noSecrets(t, r)
	}
}
