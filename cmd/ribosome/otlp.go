package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

// traceFlags has the settings of the export of traces.
type traceFlags struct {
	OTLP       string  `name:"otlp" placeholder:"URL" help:"OpenTelemetry collector that gets the traces, by OTLP over HTTP, such as http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_HEADERS has headers for it"`
	TraceRatio float64 `name:"trace-ratio" default:"1" help:"Part of the traces beginning here that is exported, above 0 and up to 1"`
}

// otlpTime is how long a collector may take to answer.
const otlpTime = 10 * time.Second

// otlpPath is where a collector takes traces, unless the address has a path (OTLP 1.9, "OTLP/HTTP Request").
const otlpPath = "/v1/traces"

// check returns an error for flags that contradict each other.
func (f *traceFlags) check() error {
	if f.OTLP == "" {
		if f.TraceRatio != 1 {
			return usagef("--trace-ratio is about traces that nothing exports; add --otlp")
		}
		return nil
	}
	if _, err := f.endpoint(); err != nil {
		return err
	}
	if !(f.TraceRatio > 0 && f.TraceRatio <= 1) {
		return usagef("--trace-ratio %v: want a part above 0 and up to 1, such as 0.1", f.TraceRatio)
	}
	return nil
}

func (f *traceFlags) endpoint() (string, error) {
	u, err := url.Parse(f.OTLP)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", usagef("--otlp %s: want an address such as http://127.0.0.1:4318", shown(f.OTLP))
	case u.User != nil:
		return "", usagef("--otlp: a password in an address is seen by everyone on this machine; put it into OTEL_EXPORTER_OTLP_HEADERS")
	case u.Path == "" || u.Path == "/":
		u.Path = otlpPath
	}
	return u.String(), nil
}

// tracing returns the option of the node; nil without --otlp.
func (f *traceFlags) tracing() *actors.Tracing {
	if f.OTLP == "" {
		return nil
	}
	return &actors.Tracing{Ratio: f.TraceRatio}
}

// traces exports the spans of a node, and counts them.
type traces struct {
	provider       *sdktrace.TracerProvider
	log            *slog.Logger
	url            string
	ended, arrived atomic.Int64 // spans
}

// open returns the exporter of the flags, for a node of that name; nil without --otlp.
func (f *traceFlags) open(ctx context.Context, node string, log *slog.Logger) (*traces, error) {
	if f.OTLP == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	endpoint, err := f.endpoint()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithTimeout(otlpTime))
	if err != nil {
		return nil, usagef("--otlp %s: %v", shown(f.OTLP), err)
	}
	as, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ribosome"), attribute.String("service.instance.id", node)), resource.WithFromEnv())
	if err != nil {
		return nil, usagef("OTEL_RESOURCE_ATTRIBUTES: %v", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("telemetry", "err", err) })) // the exporter below says what matters
	t := &traces{log: log, url: endpoint}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(&endedSpans{sdktrace.NewBatchSpanProcessor(&arrivedSpans{SpanExporter: exporter, of: t}), t}),
		sdktrace.WithResource(as), sdktrace.WithIDGenerator(telemetry.IDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
	)
	return t, nil
}

// close exports what waits until ctx ends. The text says how many spans have not arrived; it is empty if all have.
func (t *traces) close(ctx context.Context) string {
	_ = t.provider.Shutdown(ctx) // the counts say what came of it
	if lost := t.ended.Load() - t.arrived.Load(); lost > 0 {
		return fmt.Sprintf("%d of %d spans did not reach %s", lost, t.ended.Load(), t.url)
	}
	return ""
}

// register adds the counts to the metrics.
func (t *traces) register(to prometheus.Registerer) error {
	for name, of := range map[string]*atomic.Int64{"ended": &t.ended, "exported": &t.arrived} {
		err := to.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ribosome_telemetry_spans_" + name + "_total", Help: "Spans of the node that were " + name + "; those that ended, and are neither exported nor about to be, are lost",
		}, func() float64 { return float64(of.Load()) }))
		if err != nil {
			return err
		}
	}
	return nil
}

// endedSpans counts the spans that end. The SDK does not say how many of them it drops, when the collector is slow.
type endedSpans struct {
	sdktrace.SpanProcessor
	of *traces
}

// OnEnd counts one.
func (p *endedSpans) OnEnd(s sdktrace.ReadOnlySpan) {
	p.of.ended.Add(1)
	p.SpanProcessor.OnEnd(s)
}

// arrivedSpans counts the spans that the collector has taken, and logs when it begins to take none, and takes them again.
type arrivedSpans struct {
	sdktrace.SpanExporter
	of      *traces
	failing bool // of the last call; the SDK makes one at a time
}

// ExportSpans exports spans, and counts them.
func (e *arrivedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err == nil:
		e.of.arrived.Add(int64(len(spans)))
		if e.failing {
			e.of.log.Info("the collector takes traces again", "url", e.of.url)
		}
	case !e.failing:
		e.of.log.Warn("the collector takes no traces, which are lost until it does", "url", e.of.url, "err", err)
	}
	e.failing = err != nil
	return err
}
