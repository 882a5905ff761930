package telemetry

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// metrics are the instruments of a node.
type metrics struct {
	meter                                                 metric.Meter
	begun, ended, resent, refused, deadLettered, operator metric.Int64Counter
	duration, job                                         metric.Float64Histogram
	registration                                          metric.Registration // of the gauges

	// Of the goroutine that handles events.
	series  map[labels]*series
	recent  [recentSeries]*series // the latest one with each hash
	counted []*series             // those with counts that no counter has yet
	ends    map[sideKind]int64    // sides that have ended
	begins  map[sideKind]int64    // sides that m.begun has

	lost lostEnds

	mu     sync.Mutex
	agents map[performatives.AgentID]*agentCounts // those that have metrics of their own
	most   int                                    // how many may have
	runs   func(performatives.AgentID) bool       // reports whether an agent of this node runs
	full   bool                                   // all of them run, as of the last look
	others agentCounts
}

// seconds are the bounds of the histograms: a tool answers within milliseconds, a person within
// hours.
var seconds = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}

func newMetrics(meter metric.Meter, system *actors.System, agents int) (*metrics, error) {
	m := &metrics{
		meter: meter, series: map[labels]*series{}, ends: map[sideKind]int64{}, begins: map[sideKind]int64{},
		agents: map[performatives.AgentID]*agentCounts{}, most: agents,
		runs: func(id performatives.AgentID) bool { _, here := system.Lookup(id); return here },
	}
	var errs []error
	for _, c := range []struct {
		into       *metric.Int64Counter
		name, unit string
		what       string
	}{
		{&m.begun, "ribosome.conversations.begun", "{conversation}", "Sides of conversations that have begun"},
		{&m.ended, "ribosome.conversations.ended", "{conversation}", "Sides of conversations that have ended"},
		{&m.resent, "ribosome.messages.resent", "{message}", "Repetitions of messages"},
		{&m.refused, "ribosome.messages.refused", "{message}", "Messages refused to their senders"},
		{&m.deadLettered, "ribosome.messages.dead_lettered", "{message}", "Messages that were not handled and expected no reply"},
		{&m.operator, "ribosome.operator.refused", "{request}", "Requests to the operator's interface with wrong credentials, or without the right"},
	} {
		var err error
		*c.into, err = meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.what))
		errs = append(errs, err)
	}
	var err error
	m.duration, err = meter.Float64Histogram("ribosome.conversation.duration", metric.WithUnit("s"), metric.WithDescription("From the begin to the end of a side of a conversation"), metric.WithExplicitBucketBoundaries(seconds...))
	errs = append(errs, err)
	m.job, err = meter.Float64Histogram("ribosome.job.duration", metric.WithUnit("s"), metric.WithDescription("From the begin to the end of a job"), metric.WithExplicitBucketBoundaries(seconds...))
	return m, errors.Join(append(errs, err)...)
}

func with(all ...attribute.KeyValue) metric.MeasurementOption { return metric.WithAttributes(all...) }

// labels are the attributes of a measurement of a side or a job. An empty one is left out.
type labels struct {
	protocol string
	role     machine.Role
	state    machine.State
	job      string
	code     performatives.Code // a known one
}

// series has the counts of events with the same [labels]. The options of its measurements are made
// once: sorting attributes takes longer than counting. Its counts are added to the counters once
// for many events: an addition takes longer than the rest of the work for an event.
type series struct {
	labels
	add           []metric.AddOption
	record        []metric.RecordOption
	ended, resent int64 // counts that were not added to the counters yet
	counted       bool  // it is in metrics.counted
}

// maxSeries is how many series are kept. Codons, their states and jobs, and codes are few.
const maxSeries = 4096

// recentSeries is how many series are found without their hash in a map.
const recentSeries = 32

// slot spreads the labels that differ by role and by state, which most do.
func (l *labels) slot() int {
	return (int(l.role) + len(l.state)<<1 + len(l.job)<<2 + len(l.protocol)) % recentSeries
}

// of returns the series of the labels.
func (m *metrics) of(l labels) *series {
	l.code = bounded(l.code)
	slot := l.slot()
	if s := m.recent[slot]; s != nil && s.labels == l {
		return s
	}
	s := m.series[l]
	if s == nil {
		s = newSeries(l)
		if len(m.series) < maxSeries {
			m.series[l] = s
		}
	}
	m.recent[slot] = s
	return s
}

func newSeries(l labels) *series {
	all := []attribute.KeyValue{attribute.String(attrProtocol, l.protocol), attribute.String(attrRole, l.role.String())}
	for _, a := range []attribute.KeyValue{attribute.String(attrState, string(l.state)), attribute.String(attrJob, l.job), attribute.String(attrErrorType, string(l.code))} {
		if a.Value.AsString() != "" {
			all = append(all, a)
		}
	}
	measurement := metric.WithAttributeSet(attribute.NewSet(all...))
	return &series{labels: l, add: []metric.AddOption{measurement}, record: []metric.RecordOption{measurement}}
}

// bounded returns a code of the runtime's or none, and other for any other code: there is no end of
// those.
func bounded(code performatives.Code) performatives.Code {
	if code == "" {
		return ""
	}
	return performatives.Code(known(code))
}

// count returns the series, to count an event in it until the next flush.
func (m *metrics) count(l labels) *series {
	s := m.of(l)
	if !s.counted {
		s.counted = true
		m.counted = append(m.counted, s)
	}
	return s
}

// flush adds the counts of the series to the counters.
func (m *metrics) flush() {
	for _, s := range m.counted {
		for _, c := range []struct {
			to metric.Int64Counter
			n  int64
		}{{m.ended, s.ended}, {m.resent, s.resent}} {
			if c.n > 0 {
				c.to.Add(none, c.n, s.add...)
			}
		}
		m.ends[sideKind{s.protocol, s.role}] += s.ended
		s.ended, s.resent, s.counted = 0, 0, false
	}
	clear(m.counted)
	m.counted = m.counted[:0]
}

// sideKind has the labels of a side that has begun.
type sideKind struct {
	protocol string
	role     machine.Role
}

// begin counts the sides that have begun: those that have ended, which flush has counted, and those
// that are under way. A side that ends meanwhile is perhaps among neither. The next call counts it.
func (m *metrics) begin(all map[sideKind]int64, live []codons.Info) {
	for _, i := range live {
		if i.State != machine.Idle {
			all[sideKind{i.Protocol, i.Role}]++
		}
	}
	for kind, n := range all {
		if more := n - m.begins[kind]; more > 0 {
			m.begun.Add(none, more, m.of(labels{protocol: kind.protocol, role: kind.role}).add...)
			m.begins[kind] = n
		}
	}
}

// none is the context of measurements. The ones of a node belong to no call.
var none = context.Background() //nolint:forbidigo // nothing below it waits

// lostEnds counts the ends of sides whose events found the queue full. Their durations are not
// known. As many labels have counts as there are series: codons, their states, and known codes are
// few.
type lostEnds struct {
	mu sync.Mutex
	n  map[labels]int64
}

// count is called by publishers of events.
func (l *lostEnds) count(e lifecycle.Ended) {
	of := labels{protocol: e.Protocol, role: e.Role, state: e.State, code: bounded(e.Code)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == nil {
		l.n = make(map[labels]int64)
	}
	l.n[of]++
}

// addLost counts the ends whose events were lost.
func (m *metrics) addLost() {
	m.lost.mu.Lock()
	all := m.lost.n
	m.lost.n = nil
	m.lost.mu.Unlock()
	for of, n := range all {
		m.count(of).ended += n
	}
}

func (m *metrics) conversationEnded(e *lifecycle.Ended) {
	s := m.count(labels{protocol: e.Protocol, role: e.Role, state: e.State, code: e.Code})
	s.ended++
	m.duration.Record(none, e.Time.Sub(e.Began).Seconds(), s.record...)
}

func (m *metrics) messageResent(_ uint64, e *lifecycle.Resent) {
	m.count(labels{protocol: e.Protocol, role: e.Role}).resent++
}

func (m *metrics) jobEnded(e *lifecycle.JobEnded) {
	m.job.Record(none, e.Time.Sub(e.Began).Seconds(), m.of(labels{protocol: e.Protocol, role: e.Role, job: e.Job, code: e.Code}).record...)
}

func (m *metrics) jobFailed(_ uint64, e *lifecycle.JobFailed) {
	m.add(e.Agent, func(a *agentCounts) *tally { return &a.errors })
}

func (m *metrics) supervised(_ uint64, e *events.Supervised) {
	if e.Directive == actor.RestartDirective && e.Agent != "" {
		m.add(e.Agent, func(a *agentCounts) *tally { return &a.restarts })
	}
}

func (m *metrics) operatorRefused(_ uint64, e *observe.OperatorRefused) {
	m.operator.Add(none, int64(e.Count), with(attribute.String(attrErrorType, e.Code)))
}

func (m *metrics) messageRefused(_ uint64, e *events.MessageRefused) {
	code := performatives.CodeUnspecified
	if e.Refusal != nil {
		code = e.Refusal.Code
	}
	m.refused.Add(none, 1, with(attribute.String(attrCode, known(code))))
}

func (m *metrics) deadLetter(_ uint64, e *events.DeadLetter) {
	reason := string(e.Code)
	if !slices.Contains(drops, reason) {
		reason = known(e.Code)
	}
	m.deadLettered.Add(none, 1, with(attribute.String(attrCode, reason)))
}

// drops are the reasons for which the standard rows of a codon drop a message. They are no codes of
// refusals.
var drops = []string{machine.DropDuplicate, machine.DropStale, machine.DropLate, machine.DropUnexpected, machine.DropUndeliverable}

// watch observes the gauges whenever they are read.
func (m *metrics) watch(node *runtime.Node, sessions func() int, lost func() uint64) error {
	var errs []error
	var all []metric.Observable
	read := map[metric.Int64Observable]func(actors.Counts) int64{}
	gauge := func(name, unit, what string, value func(actors.Counts) int64) metric.Int64Observable {
		g, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs, all = append(errs, err), append(all, g)
		if value != nil {
			read[g] = value
		}
		return g
	}
	gauge("ribosome.conversations.open", "{conversation}", "Sides of conversations that are under way", func(c actors.Counts) int64 { return int64(c.Open) })
	gauge("ribosome.jobs.running", "{job}", "Jobs that run", func(c actors.Counts) int64 { return int64(c.Working) })
	gauge("ribosome.node.handlers.queued", "{job}", "Jobs that wait for a processor", func(c actors.Counts) int64 { return int64(c.Queued) })
	gauge("ribosome.node.overloaded", "{node}", "1 while the node refuses requests that its processors cannot do in time", func(c actors.Counts) int64 { return map[bool]int64{true: 1}[c.Refusing] })
	gauge("ribosome.cluster.members", "{node}", "Nodes of the cluster that are believed to live", func(actors.Counts) int64 { return int64(max(1, len(node.Members()))) })
	agents := gauge("ribosome.agents", "{agent}", "Agents of the node and behind its sessions and links", nil)
	links := gauge("ribosome.cluster.links", "{link}", "Links to other nodes of the cluster", nil)
	working := gauge("ribosome.agent.jobs.running", "{job}", "Jobs of an agent that run", nil)
	depth := gauge("ribosome.agent.mailbox.depth", "{message}", "Messages in the mailbox of an agent", nil)
	if sessions != nil {
		gauge("ribosome.sessions", "{session}", "Open sessions with peers", func(actors.Counts) int64 { return int64(sessions()) })
	}
	wait, err := m.meter.Float64ObservableGauge("ribosome.agent.mailbox.wait", metric.WithUnit("s"), metric.WithDescription("Time that the oldest message which waits for its agent has been on the node"))
	counter := func(name, unit, what string, value func(actors.Counts) uint64) {
		c, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs, all = append(errs, err), append(all, c)
		read[c] = func(c actors.Counts) int64 { return int64(value(c)) } //nolint:gosec // so many never happen
	}
	counter("ribosome.telemetry.events.lost", "{event}", "Events that found the queue full, because too many came at once", func(actors.Counts) uint64 { return lost() })
	counter("ribosome.agents.busy", "{agent}", "How often the actor of an agent had not come back for 5 s", func(c actors.Counts) uint64 { return c.Busy })
	counter("ribosome.node.overload.refused", "{request}", "Requests refused because the processors could not have done them in time", func(c actors.Counts) uint64 { return c.Overload })
	counter("ribosome.notices.loops", "{chain}", "Chains of a thousand notices, each of which followed from the one before", func(c actors.Counts) uint64 { return c.Loops })
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	m.registration, err = m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c := node.Counts()
		for of, value := range read {
			o.ObserveInt64(of, value(c))
		}
		o.ObserveInt64(agents, int64(c.Agents), with(attribute.String(attrLocation, "here")))
		o.ObserveInt64(agents, int64(c.Remote), with(attribute.String(attrLocation, "elsewhere")))
		all, up := node.Links()
		o.ObserveInt64(links, int64(up), with(attribute.String(attrState, "up")))
		o.ObserveInt64(links, int64(all-up), with(attribute.String(attrState, "down")))
		mailboxes, jobs := m.loads(node.System(), time.Now())
		for key, of := range mailboxes {
			as := with(key.agent, attribute.String(attrBand, key.band.String()))
			o.ObserveInt64(depth, of.depth, as)
			o.ObserveFloat64(wait, of.wait, as)
		}
		for agent, n := range jobs {
			o.ObserveInt64(working, n, with(agent))
		}
		return nil
	}, append(all, wait)...)
	return err
}

// mailbox is one band of the mailbox of an agent. The agents beyond the bound are one.
type mailbox struct {
	agent attribute.KeyValue
	band  performatives.Priority
}

// backlog describes the queued messages of a [mailbox]. Of several agents, it has the sum of their
// depths, and the longest wait.
type backlog struct {
	depth int64
	wait  float64 // of the oldest message, in seconds
}

// loads returns the backlogs of the agents of this node, and how many of their jobs run. The agents
// beyond the bound are one.
func (m *metrics) loads(system *actors.System, now time.Time) (map[mailbox]backlog, map[attribute.KeyValue]int64) {
	mailboxes, jobs := map[mailbox]backlog{}, map[attribute.KeyValue]int64{}
	for r := range system.Agents() {
		self, here := r.Local()
		if !here {
			continue
		}
		agent := m.agent(r.ID())
		jobs[agent] += int64(self.Working())
		for p := performatives.Low; p <= performatives.Urgent; p++ {
			n, oldest := self.Backlog(p)
			b := mailboxes[mailbox{agent, p}]
			b.depth += int64(n)
			if !oldest.IsZero() {
				b.wait = max(b.wait, now.Sub(oldest).Seconds())
			}
			mailboxes[mailbox{agent, p}] = b
		}
	}
	return mailboxes, jobs
}

func (m *metrics) close() { _ = m.registration.Unregister() }

// tally is a count of an agent.
type tally struct {
	n    int64
	told int64 // the part that a reader of the metrics has got
}

// agentCounts are the counts of an agent that has metrics of its own, or of all others.
type agentCounts struct{ errors, restarts tally }

// countsLocked returns the counts of an agent, and its attribute. An agent beyond the bound takes
// the place of one that has stopped; if there is none, it is one of the others.
func (m *metrics) countsLocked(id performatives.AgentID) (*agentCounts, attribute.KeyValue) {
	a := m.agents[id]
	if a == nil {
		if len(m.agents) >= m.most && !m.giveBackLocked() {
			return &m.others, attribute.String(attrAgent, other)
		}
		a = new(agentCounts)
		m.agents[id] = a
	}
	return a, attribute.String(attrAgent, string(id))
}

// giveBackLocked ends the series of an agent that has stopped. The unread part of its counts is
// added to the counts of the others. So a counter never goes back, and rate() counts nothing twice.
// It returns false where it finds none: then it looks again after the next read of the metrics.
func (m *metrics) giveBackLocked() bool {
	if m.full {
		return false
	}
	for id, a := range m.agents {
		if !m.runs(id) {
			m.others.errors.n += a.errors.n - a.errors.told
			m.others.restarts.n += a.restarts.n - a.restarts.told
			delete(m.agents, id)
			return true
		}
	}
	m.full = true
	return false
}

// agent returns the attribute of an agent.
func (m *metrics) agent(id performatives.AgentID) attribute.KeyValue {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, as := m.countsLocked(id)
	return as
}

// add counts an error or a restart of an agent.
func (m *metrics) add(id performatives.AgentID, of func(*agentCounts) *tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, _ := m.countsLocked(id)
	of(a).n++
}

// watchAgents observes the counters of agents whenever they are read, also after the end of the
// telemetry: their counts do not go. refresh handles the events that wait. Counters that are
// observed, and not added to, have no series of an agent that is not observed any more.
func (m *metrics) watchAgents(refresh func()) error {
	errs, err := m.meter.Int64ObservableCounter("ribosome.agent.errors", metric.WithUnit("{error}"), metric.WithDescription("Errors and panics of jobs"))
	if err != nil {
		return err
	}
	restarts, err := m.meter.Int64ObservableCounter("ribosome.agent.restarts", metric.WithUnit("{restart}"), metric.WithDescription("Restarts of agents"))
	if err != nil {
		return err
	}
	_, err = m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		refresh()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.full = false
		observe := func(a *agentCounts, as attribute.KeyValue) {
			for to, t := range map[metric.Int64Observable]*tally{errs: &a.errors, restarts: &a.restarts} {
				if t.told = t.n; t.n > 0 {
					o.ObserveInt64(to, t.n, with(as))
				}
			}
		}
		for id, a := range m.agents {
			observe(a, attribute.String(attrAgent, string(id)))
		}
		observe(&m.others, attribute.String(attrAgent, other))
		return nil
	}, errs, restarts)
	return err
}
