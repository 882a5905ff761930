package machine

import "slices"

// Corrupt adds a transition that Compile would refuse.
func (m *Machine) Corrupt(t Transition) {
	m.table.Rows = append(slices.Clip(m.table.Rows), Row{Role: t.Role, To: t.To, Do: t.Do})
	m.index[key{t.Role, t.From, t.On}] = len(m.table.Rows) - 1
}

// Size returns the number of hypotheses, and of the positions of a role under the first.
func (o *Monitor) Size(r Role) (hypotheses, positions int) {
	return len(o.hypotheses), len(o.reachable(o.hypotheses[0], r))
}

// MaxProgress is maxProgress.
const MaxProgress = maxProgress

// Shared returns the number of Progress values that have the same beginning and are shared.
func (p *Progress) Shared() int { return *p.shared }
