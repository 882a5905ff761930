package machine

import "github.com/ribosome-agents/ribosome/performatives"

const (
	// maxSharedTraces is the largest number of traces that the monitors of one [Monitors] share.
	maxSharedTraces = 512

	// maxSharedMessages is the largest number of messages of a trace that monitors share.
	maxSharedMessages = 32
)

// Monitors makes monitors of one [Machine], for many conversations. Conversations with the same
// messages share what a [Monitor] finds out about them, so that a message after a usual trace costs
// one lookup. The first 512 traces of up to 32 messages are shared. The Monitors and all that it
// makes are together not safe for concurrent use.
type Monitors struct {
	begin  *sharedTrace
	traces int
}

// sharedTrace is what a monitor finds out about one trace.
type sharedTrace struct {
	monitor  *Monitor // after the trace; never changed
	err      error    // of the last message
	messages int
	next     map[traceStep]*sharedTrace
}

// traceStep is one more message of a trace.
type traceStep struct {
	Utterance
	interjected bool // see [Monitor.Interject]
}

// NewMonitors returns a Monitors that shares nothing yet.
func NewMonitors(m *Machine) *Monitors {
	return &Monitors{begin: &sharedTrace{monitor: NewMonitor(m)}, traces: 1}
}

// SharedMonitor is a [Monitor] of one conversation that shares with those of other conversations.
// Make it with [Monitors.New].
type SharedMonitor struct {
	of  *Monitors
	at  *sharedTrace // nil when the trace is not shared
	own *Monitor     // nil when it is
}

// New returns a monitor of a conversation that has not begun.
func (s *Monitors) New() SharedMonitor { return SharedMonitor{of: s, at: s.begin} }

// Observe is [Monitor.Observe]. Conversations may share the error.
func (o *SharedMonitor) Observe(u Utterance) error { return o.take(traceStep{Utterance: u}) }

// Interject is [Monitor.Interject].
func (o *SharedMonitor) Interject(from Role, act performatives.Performative) {
	_ = o.take(traceStep{Utterance{From: from, Act: act}, true}) // Interject has no error
}

// States is [Monitor.States].
func (o *SharedMonitor) States(r Role) []State {
	if o.own != nil {
		return o.own.States(r)
	}
	return o.at.monitor.States(r)
}

func (o *SharedMonitor) take(s traceStep) error {
	if o.own != nil {
		return o.own.take(s)
	}
	next, known := o.at.next[s]
	switch {
	case known:
	case o.of.traces == maxSharedTraces || o.at.messages == maxSharedMessages:
		o.own, o.at = o.at.monitor.Clone(), nil
		return o.own.take(s)
	default:
		next = o.at.after(s)
		o.of.traces++
	}
	o.at = next
	return next.err
}

// after returns the trace with one more message, and keeps it.
func (t *sharedTrace) after(s traceStep) *sharedTrace {
	next := &sharedTrace{monitor: t.monitor.Clone(), messages: t.messages + 1}
	next.err = next.monitor.take(s)
	if t.next == nil {
		t.next = make(map[traceStep]*sharedTrace)
	}
	t.next[s] = next
	return next
}

func (o *Monitor) take(s traceStep) error {
	if s.interjected {
		o.Interject(s.From, s.Act)
		return nil
	}
	return o.Observe(s.Utterance)
}
