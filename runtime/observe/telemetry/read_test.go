package telemetry

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// measured is a Telemetry whose node lists the sides that live returns.
type measured struct {
	*Telemetry
	t      *testing.T
	events *events.Stream
	reader *sdkmetric.ManualReader
}

func newMeasured(t *testing.T, queue int, live func() []codons.Info) *measured {
	t.Helper()
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(context.Background()) })
	m := &measured{t: t, events: n.Events(), reader: sdkmetric.NewManualReader()}
	if m.Telemetry, err = New(n, Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader)), Queue: queue}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.live = live
	return m
}

// stopTicks ends the goroutine that handles the events from time to time, so that only the test and
// readers of the metrics lock anything.
func (m *measured) stopTicks() {
	m.close.Do(func() { close(m.closed) })
	<-m.done
	m.t.Cleanup(m.Telemetry.events.Close)
}

// end publishes the end of a side.
func (m *measured) end(state machine.State, code performatives.Code) {
	now := time.Now()
	m.events.Publish(lifecycle.Ended{At: events.At{Time: now}, Subject: &lifecycle.Subject{Protocol: "p"}, State: state, Code: code, Began: now.Add(-time.Second)})
}

// counts reads the metrics of conversations: the value of each counter, and the number of values of
// each histogram, by the end of its name, its state and its code.
func (m *measured) counts() map[string]int64 {
	m.t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(m.t.Context(), &all); err != nil {
		m.t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, metric := range scope.Metrics {
			name, ok := strings.CutPrefix(metric.Name, "ribosome.conversation")
			switch d := metric.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					state, _ := p.Attributes.Value(attrState)
					code, _ := p.Attributes.Value(attrErrorType)
					if key := strings.Trim(strings.Join([]string{strings.TrimPrefix(name, "s."), state.AsString(), code.AsString()}, " "), " "); ok {
						counts[key] += p.Value
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if ok {
						counts[strings.TrimPrefix(name, ".")] += int64(p.Count) //nolint:gosec // few
					}
				}
			}
		}
	}
	return counts
}

func (m *measured) want(when string, want map[string]int64) {
	m.t.Helper()
	if got := m.counts(); !maps.Equal(got, want) {
		m.t.Errorf("%s: %v, want %v", when, got, want)
	}
}

// While the node lists its sides for a reader of the metrics, events are handled. A side that ends
// then counts once, and so does one that begins and ends then.
func TestReadingHoldsUpNothing(t *testing.T) {
	var m *measured
	sides := []codons.Info{{Protocol: "p", State: "working"}, {Protocol: "p", State: "working"}, {Protocol: "p", State: machine.Idle}}
	lists := 0
	m = newMeasured(t, 100, func() []codons.Info {
		lists++
		if !m.handle.TryLock() {
			t.Error("events wait for a reader of the metrics")
			return sides
		}
		m.handle.Unlock()
		listed := sides
		if lists == 1 { // as they have been listed
			m.end("answered", "")
			m.end("answered", "")
			m.handleAll()
			sides = sides[1:2]
		}
		return listed
	})
	m.stopTicks()
	m.want("two sides, one of which ends during the reading, as does one that is not listed", map[string]int64{"begun": 2, "ended answered": 2, "duration": 2})
	m.want("the next reading", map[string]int64{"begun": 3, "ended answered": 2, "duration": 2})
	if lists != 2 {
		t.Errorf("the sides were listed %d times", lists)
	}
}

// Ends whose events found the queue full are counted, and so are the begins of their sides. Only
// their durations are lost.
func TestLostEnds(t *testing.T) {
	m := newMeasured(t, 2, func() []codons.Info { return []codons.Info{{Protocol: "p", State: "working"}} })
	m.want("at first", map[string]int64{"begun": 1})
	m.handle.Lock() // the queue fills
	for range 3 {
		m.end("answered", "")
	}
	m.end("failed", performatives.CodeFailed)
	m.end("failed", "of an agent")
	m.end("failed", "of another")
	if n := len(m.metrics.lost.n); n != 3 { // codes that agents make up count as one
		t.Errorf("the lost ends have %d labels", n)
	}
	m.handle.Unlock()
	want := map[string]int64{"begun": 7, "ended answered": 3, "ended failed execution_failed": 1, "ended failed other": 2, "duration": 2}
	m.want("four of six are lost", want)
	m.want("again", want)
	if m.Lost() != 4 {
		t.Errorf("%d events are lost", m.Lost())
	}
	m.end("answered", "")
	want["begun"]++
	want["ended answered"]++
	want["duration"]++
	m.want("a later one", want)
}
