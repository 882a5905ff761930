package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// antichain is a set of sides in which no side covers another. A covered side is
// left out: everything that it can do, the covering side can do too.
type antichain struct {
	inert bitset.Set // messages of which a duplicate is inert
	sides []side     // in no order
}

func newAntichain(inert bitset.Set) *antichain { return &antichain{inert: inert} }

// add adds s and removes the sides that s covers. It reports false when s is covered
// by a side of the set, which then stays as it is.
func (a *antichain) add(s side) bool {
	if slices.ContainsFunc(a.sides, func(o side) bool { return a.alike(o, s) && covers(o, s) }) {
		return false
	}
	a.sides = slices.DeleteFunc(a.sides, func(o side) bool { return a.alike(o, s) && covers(s, o) })
	a.sides = append(a.sides, s)
	return true
}

// alike reports whether two sides differ only in what covers compares.
func (a *antichain) alike(s, t side) bool {
	s.activity.armed, s.received = t.activity.armed, s.received&^a.inert
	t.received &^= a.inert
	return s == t
}

// covers reports whether a can do everything that b can. The two differ only in their armed timers
// and in received messages with inert duplicates. More armed timers allow more, since none has to
// expire. Fewer received messages allow more, since each of them can still arrive.
func covers(a, b side) bool {
	return b.activity.armed&^a.activity.armed == 0 && a.received&^b.received == 0
}
