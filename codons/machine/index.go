package machine

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// key identifies a transition, or a row of one of its states and symbols.
type key struct {
	role  Role
	state State
	on    Symbol
}

// index has the number of the row of each key.
type index map[key]int

// find returns the row of a symbol, and whether the row names it by a wildcard.
func (m *Machine) find(k key) (row int, wildcard, ok bool) {
	if row, ok = m.index[k]; ok {
		return row, false, true
	}
	k.on = m.wildcard(k.role, k.on)
	row, ok = m.wildcards[k]
	return row, true, ok
}

// wildcard returns the wildcard that stands for a symbol of a role, or no symbol.
func (m *Machine) wildcard(r Role, on Symbol) Symbol {
	switch {
	case !on.Act.Valid() || on.Name != "":
	case on.Kind == KindReceive && on.Act.ExpectsReply():
		return OtherRequests()
	case on.Kind == KindReceive:
		return OtherNotices()
	case on.Kind == KindDuplicate:
		return OtherDuplicates()
	case (on.Kind == KindUndeliverable || on.Kind == KindUndelivered) && slices.Contains(m.Refusable(r), on.Act):
		return OtherRefusedCopies()
	}
	return Symbol{}
}

// match returns the key of the transition that a step takes for a symbol in a state, and its row.
func (m *Machine) match(k key) (at key, row int, ok bool) {
	if row, _, ok = m.find(k); ok || k.on.Act == 0 {
		return k, row, ok
	}
	if k.on.Name != "" { // a tag that the state has no row for is ignored
		untagged := k
		untagged.on.Name = ""
		if row, _, ok = m.find(untagged); ok {
			return untagged, row, true
		}
	}
	if k.on.Kind == KindStale { // without a row of its own, a stale reply counts as a fresh one
		k.on.Kind = KindReceive
		return m.match(k)
	}
	return k, 0, false
}

// keys calls add for each row, state and symbol.
func (t Table) keys(add func(row int, k key)) {
	for i, r := range t.Rows {
		for _, from := range r.From {
			for _, on := range r.On {
				add(i, key{r.Role, from, on})
			}
		}
	}
}

// transitions are all transitions: in the order of the table, those of wildcards last.
type transitions struct {
	all   []Transition
	index map[key]int
}

// expand returns the transitions of m.
func (m *Machine) expand() *transitions {
	all := &transitions{index: map[key]int{}}
	for _, wildcards := range [...]bool{false, true} {
		m.table.keys(func(_ int, k key) {
			if k.on.wildcard() != wildcards {
				return
			}
			if !wildcards {
				m.add(all, k)
				return
			}
			stands := k.on
			for act := range performatives.Performatives() {
				for _, kind := range [...]Kind{KindReceive, KindDuplicate, KindUndeliverable, KindUndelivered} {
					if k.on = (Symbol{Kind: kind, Act: act}); m.wildcard(k.role, k.on) == stands {
						m.add(all, k)
					}
				}
			}
		})
	}
	return all
}

// add adds the transition of a key, unless it is there.
func (m *Machine) add(all *transitions, k key) {
	if _, known := all.index[k]; known {
		return
	}
	row, wildcard, _ := m.find(k)
	r := m.table.Rows[row]
	all.index[k] = len(all.all)
	all.all = append(all.all, Transition{
		Role: k.role, From: k.state, On: k.on, To: cmp.Or(r.To, k.state), Do: slices.Clip(r.Do), Row: row, Wildcard: wildcard,
	})
}
