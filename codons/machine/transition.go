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
func (m *Machine) Transitions() iter.Seq[*Transition] { return slices.Values(m.order) }

// Find returns the transition that [Machine.Step] takes for a symbol in a state,
// nil when the table has no row for it.
func (m *Machine) Find(role Role, state State, on Symbol) *Transition {
	if t := m.transitions[key{role, state, on}]; t != nil || on.Act == 0 {
		return t
	}
	if on.Name != "" { // a tag that the state has no row for is ignored
		untagged := on
		untagged.Name = ""
		if t := m.transitions[key{role, state, untagged}]; t != nil {
			return t
		}
	}
	if on.Kind == KindStale { // without a row of its own, a stale reply counts as a fresh one
		on.Kind = KindReceive
		return m.Find(role, state, on)
	}
	return nil
}

// key identifies a transition.
type key struct {
	role  Role
	state State
	on    Symbol
}

func (t *Transition) key() key { return key{t.Role, t.From, t.On} }
