package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traceCollector takes the spans of nodes, as the official messages of OTLP say.
type traceCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
	nodes []string // service.instance.id, one for each span
	auth  []string // the header Authorization of each request
	paths []string
}

func collects(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.auth, c.paths = append(c.auth, r.Header.Get("Authorization")), append(c.paths, r.URL.Path)
		for _, of := range request.GetResourceSpans() {
			node := ""
			for _, a := range of.GetResource().GetAttributes() {
				if a.GetKey() == "service.instance.id" {
					node = a.GetValue().GetStringValue()
				}
			}
			for _, s := range of.GetScopeSpans() {
				for _, span := range s.GetSpans() {
					c.spans, c.nodes = append(c.spans, span), append(c.nodes, node)
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// A node exports the traces of its conversations. Nothing of their contents is in them, and the headers of the variable go along.
func TestTraces(t *testing.T) {
	t.Chdir(t.TempDir())
	c := collects(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+anasToken)
	n := hosts(t, "--no-auth", "--name", "traced", "--swarm", "eddyjules", "--otlp", c.URL, "--http", "127.0.0.1:0")
	if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	ended := 0.0
	for late := time.Now().Add(patience); ended == 0 && time.Now().Before(late); { // events are counted a little later
		ended = measured(t, browser(t, nil), served(n.running), "ribosome_telemetry_spans_ended_total")
	}
	r := n.end()
	if r.code != exitDone || strings.Contains(r.stderr, "did not reach") {
		t.Errorf("got %+v", r)
	}
	noSecrets(t, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.spans, func(s *otlp.Span) bool { return s.GetName() == "invoke_agent Jules" })
	if ended == 0 || i < 0 || c.nodes[i] != "traced" || c.auth[0] != "Bearer "+anasToken || c.paths[0] != otlpPath {
		t.Errorf("%v ended, at %v of %v with %v, the spans are %v", ended, c.paths, c.nodes, c.auth, c.spans)
	}
	for _, s := range c.spans {
		if text := s.String(); strings.Contains(text, "Traceback") {
			t.Errorf("a span has the content of a message: %s", text)
		}
	}
}

// A collector that does not answer delays neither calls nor the end of the node, and what it did not get is counted.
func TestStalledCollector(t *testing.T) {
	t.Chdir(t.TempDir())
	release := make(chan struct{})
	stalled := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer stalled.Close()
	defer close(release)
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--otlp", stalled.URL+"/traces/", "--stop-timeout", "2s")
	for range 3 {
		if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
			t.Fatalf("got %+v", r)
		}
	}
	if r := n.end(); r.code != exitDone || !strings.Contains(r.stderr, "spans did not reach "+stalled.URL+"/traces/") {
		t.Errorf("got %+v", r)
	}
}

// A collector that is not there is logged once.
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
	of := &traces{log: slog.New(slog.NewTextHandler(&log, nil)), url: "x"}
	e := &arrivedSpans{SpanExporter: &fails, of: of}
	for i := range 5 {
		if err := e.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 2)); (err != nil) != (i < 3) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if strings.Count(log.String(), "takes no traces") != 1 || strings.Count(log.String(), "takes traces again") != 1 || of.arrived.Load() != 4 {
		t.Errorf("%d arrived, and the log is\n%s", of.arrived.Load(), log.String())
	}
}

func TestTraceFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"add --otlp":                        {"--trace-ratio", "0.5"},
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
