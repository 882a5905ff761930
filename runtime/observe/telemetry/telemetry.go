package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The bounds of a [Telemetry] whose options name none.
const (
	DefaultQueue  = 8192
	DefaultAgents = 200
)

// Options configures a [Telemetry].
type Options struct {
	// Meters is the provider of the metrics. Nil means no metrics.
	Meters metric.MeterProvider

	// Tracers is the provider of the spans. It must take the ids of spans from [IDs], or else the spans of two nodes do not link. The node
	// needs [runtime.Options].Tracing. Nil means no spans.
	Tracers trace.TracerProvider

	// Queue is how many events may wait to be counted. An event that finds the queue full is lost and counted. Zero means [DefaultQueue].
	Queue int

	// Agents is how many agents have metrics of their own. Ids come from outside, so that they must be bounded: the agents beyond are
	// one, "other". Zero means [DefaultAgents].
	Agents int

	// Sessions returns how many sessions with peers are open. Nil means no metric of them.
	Sessions func() int
}

// Telemetry exports what happens on a node. Its owner must call Close.
type Telemetry struct {
	events  *actors.Subscription
	metrics *metrics
	spans   *spans
	done    chan struct{} // closed when the goroutine has ended
}

// New exports the events of the node that are published from now on. The error names the option that is wrong, or is that of the provider.
func New(node *runtime.Node, o Options) (*Telemetry, error) {
	switch {
	case o.Queue < 0:
		return nil, fmt.Errorf("telemetry: Options.Queue is %d: it must not be negative", o.Queue)
	case o.Agents < 0:
		return nil, fmt.Errorf("telemetry: Options.Agents is %d: it must not be negative", o.Agents)
	case o.Meters == nil && o.Tracers == nil:
		return nil, errors.New("telemetry: Options.Meters and Options.Tracers are nil: give at least one provider")
	case o.Tracers != nil && node.System().Tracing() == nil:
		return nil, errors.New("telemetry: Options.Tracers needs a node with runtime.Options.Tracing")
	}
	t := &Telemetry{done: make(chan struct{})}
	var kinds []actors.Kind
	if o.Tracers != nil {
		t.spans = &spans{o.Tracers.Tracer(scope)}
		kinds = append(kinds, codons.KindEnded, codons.KindJobEnded)
	}
	if o.Meters != nil {
		m, err := newMetrics(o.Meters.Meter(scope), cmp.Or(o.Agents, DefaultAgents))
		if err != nil {
			return nil, fmt.Errorf("telemetry: %w", err)
		}
		t.metrics = m
		kinds = append(kinds, codons.KindBegan, codons.KindEnded, codons.KindResent, codons.KindJobEnded, codons.KindJobFailed, codons.KindJobPanicked,
			actors.KindMessageRefused, actors.KindMessageDeadLettered, actors.KindSupervisionDecided)
	}
	slices.Sort(kinds)
	t.events = node.Events().Subscribe(actors.SubscribeOptions{Capacity: cmp.Or(o.Queue, DefaultQueue), Kinds: slices.Compact(kinds)})
	if t.metrics != nil {
		if err := t.metrics.watch(node, o.Sessions, t.Lost); err != nil {
			t.events.Close()
			return nil, fmt.Errorf("telemetry: %w", err)
		}
	}
	go t.run()
	return t, nil
}

// Lost returns how many events found the queue full.
func (t *Telemetry) Lost() uint64 { return t.events.Lost() }

// Close ends the export. It returns when the queued events are counted. Closing again does nothing.
func (t *Telemetry) Close() {
	t.events.Close()
	<-t.done
	if t.metrics != nil {
		t.metrics.close()
	}
}

func (t *Telemetry) run() {
	defer close(t.done)
	ctx := context.Background() //nolint:forbidigo // the goroutine outlives the call that started it, and nothing below it waits
	for r := range t.events.C {
		if t.metrics != nil {
			t.metrics.count(ctx, r.Event)
		}
		if t.spans != nil {
			t.spans.make(ctx, r.Event)
		}
	}
}
