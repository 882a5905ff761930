package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

// otlpFlags has the settings of the export to an OpenTelemetry collector.
type otlpFlags struct {
	OTLP            string        `name:"otlp" placeholder:"URL" help:"OpenTelemetry collector that gets traces and metrics, by OTLP over HTTP, such as http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_HEADERS has headers for it"`
	TraceRatio      float64       `name:"trace-ratio" default:"1" help:"Part of the traces beginning here that is exported, above 0 and up to 1"`
	OTLPContent     bool          `name:"otlp-content" help:"Export the masked texts and the stacks of failed jobs as events of their spans, too"`
	MetricsInterval time.Duration `name:"metrics-interval" default:"1m" help:"Time between two exports of metrics; 0s exports none, for a collector that takes traces only"`
}

// otlpTime is how long a collector may take to answer.
const otlpTime = 10 * time.Second

// The paths where a collector takes traces and metrics, below the path of its address (OTLP 1.9,
// "OTLP/HTTP Request").
const (
	otlpTraces  = "/v1/traces"
	otlpMetrics = "/v1/metrics"
)

// defaultMetricsInterval is the default of --metrics-interval.
const defaultMetricsInterval = time.Minute

// check returns an error for flags that contradict each other.
func (f *otlpFlags) check() error {
	if f.OTLP == "" {
		return firstBroken(
			rule{f.TraceRatio != 1, "--trace-ratio is about traces that nothing exports; add --otlp"},
			rule{f.OTLPContent, "--otlp-content is about traces that nothing exports; add --otlp"},
			rule{f.MetricsInterval != defaultMetricsInterval, "--metrics-interval is about metrics that nothing exports; add --otlp, or scrape /metrics of --http"},
		)
	}
	if _, err := f.collector(); err != nil {
		return err
	}
	if !(f.TraceRatio > 0 && f.TraceRatio <= 1) {
		return usagef("--trace-ratio %v: want a part above 0 and up to 1, such as 0.1", f.TraceRatio)
	}
	return nil
}

// collector returns the address of the collector, without the path of its traces, which earlier
// versions wanted in it.
func (f *otlpFlags) collector() (string, error) {
	u, err := url.Parse(f.OTLP)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", usagef("--otlp %s: want an address such as http://127.0.0.1:4318", shown(f.OTLP))
	case u.User != nil:
		return "", usagef("--otlp: a password in an address is seen by everyone on this machine; put it into OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.Fragment != "":
		return "", usagef("--otlp %s: want an address without a query, such as http://127.0.0.1:4318", shown(f.OTLP))
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), otlpTraces)
	return u.String(), nil
}

// tracing returns the option of the node; nil without --otlp.
func (f *otlpFlags) tracing() *actors.Tracing {
	if f.OTLP == "" {
		return nil
	}
	return &actors.Tracing{Ratio: f.TraceRatio}
}

// exports sends the spans and the metrics of a node to a collector.
type exports struct {
	resource *resource.Resource
	provider *sdktrace.TracerProvider // of the spans
	spans    *delivery
	reader   *sdkmetric.PeriodicReader // of the metrics; nil with --metrics-interval 0s
	metrics  *delivery                 // counts exports
}

// open returns the exports of the flags, for a node of that name; nil without --otlp.
func (f *otlpFlags) open(ctx context.Context, node string, log *slog.Logger) (*exports, error) {
	if f.OTLP == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	collector, err := f.collector()
	if err != nil {
		return nil, err
	}
	as, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ribosome"), attribute.String("service.instance.id", node)), resource.WithFromEnv())
	if err != nil {
		return nil, usagef("OTEL_RESOURCE_ATTRIBUTES: %v", err)
	}
	e := &exports{
		resource: as, spans: &delivery{what: "traces", unit: "spans", url: collector + otlpTraces, log: log},
		metrics: &delivery{what: "metrics", unit: "exports of metrics", url: collector + otlpMetrics, log: log},
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("telemetry", "err", err) })) // the deliveries log failures once
	traces, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(e.spans.url), otlptracehttp.WithTimeout(otlpTime))
	if err != nil {
		return nil, usagef("--otlp %s: %v", shown(f.OTLP), err)
	}
	e.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(&endedSpans{sdktrace.NewBatchSpanProcessor(&deliveredSpans{traces, e.spans}), e.spans}),
		sdktrace.WithResource(as), sdktrace.WithIDGenerator(telemetry.IDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
	)
	if f.MetricsInterval == 0 {
		return e, nil
	}
	metrics, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(e.metrics.url), otlpmetrichttp.WithTimeout(otlpTime))
	if err != nil {
		return nil, usagef("--otlp %s: %v", shown(f.OTLP), err)
	}
	e.reader = sdkmetric.NewPeriodicReader(&deliveredMetrics{metrics, e.metrics}, sdkmetric.WithInterval(f.MetricsInterval), sdkmetric.WithTimeout(otlpTime))
	return e, nil
}

// measured returns the options of a provider of metrics that are exported, too.
func (e *exports) measured() []sdkmetric.Option {
	all := []sdkmetric.Option{sdkmetric.WithResource(e.resource)}
	if e.reader != nil {
		all = append(all, sdkmetric.WithReader(e.reader))
	}
	return all
}

// count adds the counts of the exports to the metrics of the node.
func (e *exports) count(meter metric.Meter) error {
	for _, c := range []struct {
		name, unit, what string
		of               func() int64
	}{
		{telemetry.MetricSpansEnded, "{span}", "Spans of the node that have ended; those that are neither exported nor about to be are lost", e.spans.all.Load},
		{telemetry.MetricSpansExported, "{span}", "Spans of the node that the collector has taken", e.spans.taken.Load},
		{telemetry.MetricExportsFailed, "{export}", "Exports of metrics that the collector has not taken", e.metrics.lost},
	} {
		_, err := meter.Int64ObservableCounter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.what),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error { o.Observe(c.of()); return nil }))
		if err != nil {
			return err
		}
	}
	return nil
}

// close exports the spans and metrics that wait, until ctx ends: both at once, so that each has the
// whole time. lost has a text for each kind of which some have not arrived.
func (e *exports) close(ctx context.Context) (lost []string) {
	var ends sync.WaitGroup
	ends.Go(func() { _ = e.provider.Shutdown(ctx) }) // its error is in the counts
	if e.reader != nil {
		ends.Go(func() { _ = e.reader.Shutdown(ctx) }) // so do these
	}
	ends.Wait()
	for _, d := range []*delivery{e.spans, e.metrics} {
		if n := d.lost(); n > 0 {
			lost = append(lost, fmt.Sprintf("%d of %d %s did not reach %s", n, d.all.Load(), d.unit, d.url))
		}
	}
	return lost
}

// delivery counts the spans, or the exports of metrics, for one address of a collector. It logs
// when the collector begins to take none, and when it takes them again.
type delivery struct {
	what, unit string // traces, and spans
	url        string
	log        *slog.Logger
	all, taken atomic.Int64
	failing    bool // at the last call of result; the SDK makes one at a time
}

// lost returns how much was not taken, or not yet.
func (d *delivery) lost() int64 {
	taken := d.taken.Load() // before all, which grows first
	return d.all.Load() - taken
}

// result notes the end of a request with n of them.
func (d *delivery) result(n int, err error) {
	switch {
	case err == nil:
		d.taken.Add(int64(n))
		if d.failing {
			d.log.Info("the collector takes "+d.what+" again", "url", d.url)
		}
	case !d.failing:
		d.log.Warn("the collector takes no "+d.what+", which are lost until it does", "url", d.url, "err", err)
	}
	d.failing = err != nil
}

// endedSpans counts the spans that end. The SDK does not say how many of them it drops, when the
// collector is slow.
type endedSpans struct {
	sdktrace.SpanProcessor
	of *delivery
}

// OnEnd counts one.
func (p *endedSpans) OnEnd(s sdktrace.ReadOnlySpan) {
	p.of.all.Add(1)
	p.SpanProcessor.OnEnd(s)
}

// deliveredSpans counts the spans that the collector has taken.
type deliveredSpans struct {
	sdktrace.SpanExporter
	of *delivery
}

// ExportSpans exports spans, and counts them.
func (e *deliveredSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.of.result(len(spans), err)
	return err
}

// deliveredMetrics counts the exports of metrics, and those that the collector has taken. The
// counts in the metrics go on from the begin of the node, so that a later export makes up for a
// lost one.
type deliveredMetrics struct {
	sdkmetric.Exporter
	of *delivery
}

// Export exports metrics, and counts them. At the end the SDK cancels the export that is under way,
// and begins the last one: the first one does not count.
func (e *deliveredMetrics) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	e.of.all.Add(1)
	err := e.Exporter.Export(ctx, m)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		e.of.all.Add(-1)
		return err
	}
	e.of.result(1, err)
	return err
}
