package collector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// text returns attributes as name=value, sorted by name. An attribute of another type than string
// has its type in front of the value.
func text(all pcommon.Map, but ...string) string {
	var texts []string
	for name, value := range all.All() {
		switch {
		case slices.Contains(but, name):
		case value.Type() == pcommon.ValueTypeStr:
			texts = append(texts, name+"="+value.Str())
		default:
			texts = append(texts, fmt.Sprintf("%s=%v %s", name, value.Type(), value.AsString()))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// of returns the text of an attribute; "" if there is none.
func of(all pcommon.Map, name string) string {
	value, ok := all.Get(name)
	if !ok {
		return ""
	}
	return value.AsString()
}

// span is a span that the receiver has taken.
type span struct {
	ptrace.Span
	node  string // service.instance.id
	below []*span
}

// seconds returns the duration of the span.
func (s *span) seconds() float64 {
	return s.EndTimestamp().AsTime().Sub(s.StartTimestamp().AsTime()).Seconds()
}

// lines appends the span and those below it, a line each: node, kind, name, attributes and status.
// ids are the ids of conversations, which are random: a line has their number. The spans at one
// level are sorted, because they may run at once.
func (s *span) lines(indent string, ids *[]string) (all []string) {
	id := of(s.Attributes(), "gen_ai.conversation.id")
	if !slices.Contains(*ids, id) {
		*ids = append(*ids, id)
	}
	line := fmt.Sprintf("%s%s %v %s: gen_ai.conversation.id=#%d %s", indent, s.node, s.Kind(), s.Name(), slices.Index(*ids, id)+1, text(s.Attributes(), "gen_ai.conversation.id"))
	if s.Status().Code() != ptrace.StatusCodeUnset || s.Status().Message() != "" {
		line += fmt.Sprintf(", %v %s", s.Status().Code(), s.Status().Message())
	}
	all = append(all, line)
	slices.SortFunc(s.below, func(a, b *span) int { return cmp.Compare(a.order(), b.order()) })
	for _, b := range s.below {
		all = append(all, b.lines(indent+"  ", ids)...)
	}
	return all
}

// tree returns the lines of the spans without a parent, and of those below them. The traces are in
// the order of their begin.
func tree(spans []*span) string {
	var roots []*span
	for _, s := range spans {
		if s.ParentSpanID().IsEmpty() {
			roots = append(roots, s)
		}
	}
	slices.SortFunc(roots, func(a, b *span) int { return cmp.Compare(a.StartTimestamp(), b.StartTimestamp()) })
	var lines, ids []string
	for _, s := range roots {
		lines = append(lines, s.lines("", &ids)...)
	}
	return strings.Join(lines, "\n")
}

func (s *span) order() string { return s.Name() + " " + text(s.Attributes(), "gen_ai.conversation.id") }

// spansOf returns the spans that the receiver has taken, and as the first ones those without a
// parent among them. It checks what holds for all of them: their resource, by the name of the node,
// and their scope.
func (r *receiver) spansOf(t *testing.T, resources map[string]string) (all []*span) {
	t.Helper()
	ids := map[pcommon.SpanID]*span{}
	for _, request := range r.traces.AllTraces() {
		for _, of := range request.ResourceSpans().All() {
			node := checkResource(t, of.Resource(), resources)
			for _, scoped := range of.ScopeSpans().All() {
				if name := scoped.Scope().Name(); name != scope {
					t.Errorf("spans have the scope %s", name)
				}
				for _, s := range scoped.Spans().All() {
					if ids[s.SpanID()] != nil || s.SpanID().IsEmpty() || s.TraceID().IsEmpty() {
						t.Errorf("the id of %s %s is that of another span, or none", s.Name(), s.SpanID())
					}
					all = append(all, &span{Span: s, node: node})
					ids[s.SpanID()] = all[len(all)-1]
				}
			}
		}
	}
	var roots, children []*span
	for _, s := range all {
		above := ids[s.ParentSpanID()]
		if above == nil {
			roots = append(roots, s)
			continue
		}
		if above.TraceID() != s.TraceID() || s.StartTimestamp().AsTime().Before(above.StartTimestamp().AsTime().Add(-clockStep)) {
			t.Errorf("%s is in another trace than %s, its parent, or began before it", s.Name(), above.Name())
		}
		above.below = append(above.below, s)
		children = append(children, s)
	}
	return append(roots, children...)
}

// clockStep is by how much the system may set the clock during a test. The times of spans are those
// of the clock, and durations in metrics are measured without it.
const clockStep = time.Millisecond

// The scopes of what the library, and what the program itself measures.
const (
	scope        = "github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
	programScope = "github.com/ribosome-agents/ribosome/cmd/ribosome"
)

// checkResource checks the attributes of a resource, which resources has by the name of the node,
// and returns that name.
func checkResource(t *testing.T, resource pcommon.Resource, resources map[string]string) string {
	t.Helper()
	node := of(resource.Attributes(), "service.instance.id")
	if got := text(resource.Attributes()); resources[node] != got {
		t.Errorf("a resource has the attributes %q, want %q", got, resources[node])
	}
	return node
}

// point is a value of a metric.
type point struct {
	n     uint64  // of a histogram, how many values; else the value
	value float64 // of a histogram, the sum; else the value
	pmetric.HistogramDataPoint
}

// measured is a metric as the receiver has taken it.
type measured struct {
	kind, unit string
	points     map[string]point  // by the text of the attributes
	at         pcommon.Timestamp // the latest of the points
}

// counts returns the values of a counter or gauge, or the numbers of values of a histogram.
func (m measured) counts() map[string]uint64 {
	all := make(map[string]uint64, len(m.points))
	for key, p := range m.points {
		all[key] = p.n
	}
	return all
}

// json returns all that the receiver has taken as JSON.
func (r *receiver) json(t *testing.T) string {
	t.Helper()
	var all []byte
	for _, request := range r.traces.AllTraces() {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(request)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, request := range r.metrics.AllMetrics() {
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(request)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return string(all)
}

// metricsOf returns the metrics of a node that the receiver has taken, the latest of each name by
// the time at which the node has read it: when a node ends, it cancels the request that is under
// way, and the receiver may handle that one after the last one.
func (r *receiver) metricsOf(t *testing.T, node string, resources map[string]string) map[string]measured {
	t.Helper()
	all := map[string]measured{}
	for _, request := range r.metrics.AllMetrics() {
		for _, of := range request.ResourceMetrics().All() {
			if checkResource(t, of.Resource(), resources) != node {
				continue
			}
			for _, scoped := range of.ScopeMetrics().All() {
				for _, m := range scoped.Metrics().All() {
					want := scope
					if strings.HasPrefix(m.Name(), "ribosome.telemetry.spans.") || m.Name() == "ribosome.telemetry.metrics.failed" {
						want = programScope
					}
					if name := scoped.Scope().Name(); name != want {
						t.Errorf("%s has the scope %s", m.Name(), name)
					}
					if m.Description() == "" {
						t.Errorf("%s has no description", m.Name())
					}
					read := measure(t, m)
					if got := read.kind + " " + read.unit; instruments[m.Name()] != got {
						t.Errorf("%s is a %s, want %q", m.Name(), got, instruments[m.Name()])
					}
					if read.at >= all[m.Name()].at {
						all[m.Name()] = read
					}
				}
			}
		}
	}
	return all
}

// measure reads a metric.
func measure(t *testing.T, m pmetric.Metric) measured {
	t.Helper()
	as := measured{unit: m.Unit(), points: map[string]point{}}
	add := func(attributes pcommon.Map, at pcommon.Timestamp, p point) {
		as.at = max(as.at, at)
		for name := range attributes.All() {
			covered.attribute(m.Name(), name)
		}
		key := text(attributes)
		if _, twice := as.points[key]; twice {
			t.Errorf("%s has two values with the attributes %s", m.Name(), key)
		}
		as.points[key] = p
	}
	numbers := func(all pmetric.NumberDataPointSlice) {
		for _, p := range all.All() {
			value := p.DoubleValue() // 0 of an integer
			if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
				value = float64(p.IntValue())
			}
			if value < 0 {
				t.Errorf("%s is %v", m.Name(), value)
				continue
			}
			add(p.Attributes(), p.Timestamp(), point{n: uint64(value), value: value})
		}
	}
	switch m.Type() {
	case pmetric.MetricTypeSum:
		as.kind = "counter"
		if s := m.Sum(); !s.IsMonotonic() || s.AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			t.Errorf("%s is no counter from the start of the node", m.Name())
		}
		numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeGauge:
		as.kind = "gauge"
		numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeHistogram:
		as.kind = "histogram"
		if m.Histogram().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			t.Errorf("%s is no histogram from the start of the node", m.Name())
		}
		for _, p := range m.Histogram().DataPoints().All() {
			add(p.Attributes(), p.Timestamp(), point{p.Count(), p.Sum(), p})
		}
	case pmetric.MetricTypeEmpty, pmetric.MetricTypeExponentialHistogram, pmetric.MetricTypeSummary:
		t.Errorf("%s is a %v", m.Name(), m.Type())
	}
	return as
}
