package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ribosome-agents/ribosome/performatives"
)

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
	errs, err := m.meter.Int64ObservableCounter(metricErrors, metric.WithUnit("{error}"), metric.WithDescription("Errors and panics of jobs"))
	if err != nil {
		return err
	}
	restarts, err := m.meter.Int64ObservableCounter(metricRestarts, metric.WithUnit("{restart}"), metric.WithDescription("Restarts of agents"))
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
