package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
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

	// Tracers is the provider of the spans. It must take the ids of spans from [IDs], or else the
	// spans of two nodes do not link. The node needs [runtime.Options].Tracing. Nil means no spans.
	Tracers trace.TracerProvider

	// Queue is how many events may wait to be counted. An event that finds the queue full is lost
	// and counted. Zero means [DefaultQueue].
	Queue int

	// Agents is how many agents have metrics of their own. Ids come from outside, so that they must
	// be bounded: the agents beyond are one, "other". An agent that has stopped gives its place to
	// one that needs it. Zero means [DefaultAgents].
	Agents int

	// FailureText returns the text of a failure as spans are to have it, such as the method Text of
	// a Mask of package observe: the span of a failed job then has an event with the type, the text
	// and the stack of its error. It is the content of the program. Nil means no such events.
	FailureText func(text string) string

	// Sessions returns how many sessions with peers are open. Nil means no metric of them.
	Sessions func() int
}

// Telemetry exports metrics and traces of a node. Its owner must call Close.
type Telemetry struct {
	live    func() []codons.Info // the sides of conversations that are under way
	events  *events.Batches
	metrics *metrics
	spans   *spans
	handle  sync.Mutex    // held while events are handled
	reading sync.Mutex    // held by read; taken before handle
	closed  chan struct{} // closed by Close
	close   sync.Once
	done    chan struct{} // closed when the goroutine has ended
}

// New exports the events of the node that are published from now on. The error names the option
// that is wrong, or is that of the provider.
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
	if o.Meters == nil {
		o.Meters = noop.NewMeterProvider()
	}
	m, err := newMetrics(o.Meters.Meter(scope), node.System(), cmp.Or(o.Agents, DefaultAgents))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{live: node.Conversations, metrics: m, closed: make(chan struct{}), done: make(chan struct{})}
	if o.Tracers != nil {
		t.spans = &spans{o.Tracers.Tracer(scope), o.FailureText}
	}
	t.events = node.Events().SubscribeBatches(cmp.Or(o.Queue, DefaultQueue), events.On(t.jobEnded), events.OnOrLost(t.ended, m.lost.count), events.On(m.messageResent),
		events.On(m.jobFailed), events.On(m.supervised), events.On(m.messageRefused), events.On(m.deadLetter), events.On(m.operatorRefused))
	lost := func() uint64 {
		t.read()
		return t.Lost()
	}
	if err := errors.Join(m.watchAgents(t.handleAll), m.watch(node, o.Sessions, lost)); err != nil {
		t.events.Close()
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	go t.run()
	return t, nil
}

// Lost returns how many events found the queue full.
func (t *Telemetry) Lost() uint64 { return t.events.Lost() }

// Close ends the export. It returns when the queued events are counted. Closing again does nothing.
func (t *Telemetry) Close() {
	t.close.Do(func() {
		t.events.Close()
		close(t.closed)
	})
	<-t.done
	t.read()
	t.metrics.close()
}

// interval is how long an event waits at most: often enough for a collector, and rare enough for a
// node that does little.
const interval = time.Second

func (t *Telemetry) run() {
	defer close(t.done)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for open := true; open; {
		select {
		case <-t.events.Ready:
		case <-ticks.C:
		case <-t.closed:
			open = false
		}
		t.handleAll()
	}
}

// handleAll counts all events that have been published, and makes their spans.
func (t *Telemetry) handleAll() {
	t.handle.Lock()
	defer t.handle.Unlock()
	t.handleLocked()
}

// read is handleAll for a reader of the metrics, who gets all that has happened, also the begins of
// conversations.
func (t *Telemetry) read() {
	t.reading.Lock()
	defer t.reading.Unlock()
	t.handle.Lock()
	t.handleLocked()
	ends := maps.Clone(t.metrics.ends) // before the live sides are listed, so that none counts twice
	t.handle.Unlock()
	live := t.live() // takes long with many; events are handled meanwhile
	t.handle.Lock()
	defer t.handle.Unlock()
	t.metrics.begin(ends, live)
}

func (t *Telemetry) handleLocked() {
	t.events.Handle()
	t.metrics.addLost()
	t.metrics.flush()
}

func (t *Telemetry) ended(_ uint64, e *lifecycle.Ended) {
	t.metrics.conversationEnded(e)
	if t.spans != nil {
		t.spans.conversation(e)
	}
}

func (t *Telemetry) jobEnded(_ uint64, e *lifecycle.JobEnded) {
	t.metrics.jobEnded(e)
	if t.spans != nil {
		t.spans.job(e)
	}
}
