package machine

import "slices"

// Corrupt adds a transition that Compile would refuse.
func (m *Machine) Corrupt(t Transition) {
	m.table.Rows = append(slices.Clip(m.table.Rows), Row{Role: t.Role, To: t.To, Do: t.Do})
	m.index.add(key{t.Role, t.From, t.On}, len(m.table.Rows)-1)
}

// Size returns the number of hypotheses, and of the positions of a role under the first.
func (o *Monitor) Size(r Role) (hypotheses, positions int) {
	return len(o.hypotheses), len(o.reachable(o.hypotheses[0], r))
}

// MaxSharedTraces is maxSharedTraces.
const MaxSharedTraces = maxSharedTraces

// Traces returns the number of traces that are shared.
func (s *Monitors) Traces() int { return s.traces }
