package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// antichain is a set of sides in which no side covers another. A covered side is
// left out: everything that it can do, the covering side can do too.
type antichain struct {
	inert bitset.Set // messages of which a duplicate is inert
	kept  map[side][]side
}

func newAntichain(inert bitset.Set) *antichain {
	return &antichain{inert: inert, kept: map[side][]side{}}
}

// add adds s and removes the sides that s covers. It reports false when s is covered
// by a side of the set, which then stays as it is.
func (a *antichain) add(s side) bool {
	key := s
	key.activity.armed, key.received = 0, s.received&^a.inert
	alike := a.kept[key]
	if slices.ContainsFunc(alike, func(o side) bool { return covers(o, s) }) {
		return false
	}
	alike = slices.DeleteFunc(alike, func(o side) bool { return covers(s, o) })
	a.kept[key] = append(alike, s)
	return true
}

// covers reports whether a can do everything that b can, where the two differ only
// in their armed timers and in received messages whose duplicates are inert. More
// armed timers allow more, since none has to expire. Fewer received messages allow
// more, since each of them can still arrive.
func covers(a, b side) bool {
	return b.activity.armed&^a.activity.armed == 0 && a.received&^b.received == 0
}

// sides returns the sides, in no order.
func (a *antichain) sides() []side {
	var sides []side
	for _, alike := range a.kept {
		sides = append(sides, alike...)
	}
	return sides
}
