package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

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
