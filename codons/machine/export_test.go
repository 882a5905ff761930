package machine

// Corrupt adds a transition that Compile would refuse.
func (m *Machine) Corrupt(t Transition) { m.transitions[t.key()] = &t }

// Size returns the number of hypotheses, and of the positions of a role under the first.
func (o *Monitor) Size(r Role) (hypotheses, positions int) {
	return len(o.hypotheses), len(o.reachable(o.hypotheses[0], r))
}
