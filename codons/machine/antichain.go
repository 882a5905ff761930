package machine

import "slices"

// antichain is a set of sides without those that can do no more than another of
// them: one on which more timers run can do all that it could with fewer, since
// none has to expire; and one that has not seen a message whose copies change
// nothing can do all that it could after having seen it.
type antichain struct {
	idle set // messages whose copies change nothing
	kept map[side][]side
}

func newAntichain(idle set) *antichain { return &antichain{idle: idle, kept: map[side][]side{}} }

// add reports whether s can do more than what is there, which it then replaces.
func (a *antichain) add(s side) bool {
	key := s
	key.armed, key.seen = 0, s.seen&^a.idle
	all := a.kept[key]
	if slices.ContainsFunc(all, func(o side) bool { return covers(o, s) }) {
		return false
	}
	all = slices.DeleteFunc(all, func(o side) bool { return covers(s, o) })
	a.kept[key] = append(all, s)
	return true
}

// covers reports whether a can do all that b can, if all else is the same.
func covers(a, b side) bool { return b.armed&^a.armed == 0 && a.seen&^b.seen == 0 }

// all returns the sides in no order.
func (a *antichain) all() []side {
	var all []side
	for _, some := range a.kept {
		all = append(all, some...)
	}
	return all
}
