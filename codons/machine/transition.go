package machine

import (
	"cmp"
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
		all := m.transitions()
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
	number, ok := m.find(key{role, state, on})
	if !ok {
		return nil
	}
	return &m.transitions()[number]
}

// find returns the number of the transition that Find returns.
func (m *Machine) find(k key) (number int32, ok bool) {
	if number, ok = m.index.find(k); ok || k.on.Act == 0 {
		return number, ok
	}
	if k.on.Name != "" { // a tag that the state has no row for is ignored
		untagged := k
		untagged.on.Name = ""
		if number, ok = m.index.find(untagged); ok {
			return number, ok
		}
	}
	if k.on.Kind == KindStale { // without a row of its own, a stale reply counts as a fresh one
		k.on.Kind = KindReceive
		return m.find(k)
	}
	return 0, false
}

// expand returns all transitions by their numbers.
func (m *Machine) expand() []Transition {
	all := make([]Transition, len(m.index.rows))
	for number, k := range m.index.keys() {
		row := int(m.index.rows[number])
		r := m.table.Rows[row]
		all[number] = Transition{
			Role: k.role, From: k.state, On: k.on, To: cmp.Or(r.To, k.state), Do: slices.Clip(r.Do), Row: row, Wildcard: number >= m.index.plain,
		}
	}
	return all
}
