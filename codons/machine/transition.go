package machine

import (
	"iter"
	"slices"
)

// Transition is one row of a table, for one of its states and one symbol.
// Transitions belong to their [Machine]: do not modify them.
type Transition struct {
	Role     Role
	From     State
	On       Symbol
	To       State    // equal to From where the row keeps the state
	Do       []Effect // in the order of the row
	Row      int      // index of the row in Table.Rows
	Wildcard bool     // the row names On by a wildcard such as [OtherNotices]
}

// Inert reports whether the transition keeps the state and has no effect other
// than [Report] and [Drop].
func (t *Transition) Inert() bool {
	return t.To == t.From && !slices.ContainsFunc(t.Do, func(e Effect) bool {
		return e.Kind != EffectReport && e.Kind != EffectDrop
	})
}

// Transitions yields every transition of m, in the order of the table. The
// transitions of wildcards come after all others.
func (m *Machine) Transitions() iter.Seq[*Transition] {
	return func(yield func(*Transition) bool) {
		all := m.transitions().all
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// Find returns the transition that [Machine.Step] takes for a symbol in a state,
// nil when the table has no row for it.
func (m *Machine) Find(role Role, state State, on Symbol) *Transition {
	ts, k := m.transitions(), key{role, state, on}
	i, ok := ts.index[k]
	if !ok {
		if k, _, ok = m.match(k); !ok {
			return nil
		}
		i = ts.index[k]
	}
	return &ts.all[i]
}
