package machine

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// TestAntichainDropsCoveredSides adds sides in every order.
func TestAntichainDropsCoveredSides(t *testing.T) {
	const inert, other = 0, 1 // messages: only duplicates of the first are inert
	none := side{state: 1}
	received, armed, both, more := none, none, none, none
	received.received = bitset.Set(0).With(inert)
	armed.activity.armed = 1
	both.received, both.activity.armed = bitset.Set(0).With(inert), 1
	more.received = bitset.Set(0).With(other)
	for _, c := range []struct {
		add, want []side
	}{
		{[]side{received, none}, []side{none}},
		{[]side{none, received}, []side{none}},
		{[]side{none, armed}, []side{armed}},
		{[]side{armed, none, received, both}, []side{armed}},
		{[]side{none, both}, []side{none, both}},
		{[]side{none, more}, []side{none, more}},
	} {
		a := newAntichain(bitset.Set(0).With(inert))
		for _, s := range c.add {
			a.add(s)
		}
		got := a.sides
		if len(got) != len(c.want) || slices.ContainsFunc(c.want, func(s side) bool { return !slices.Contains(got, s) }) {
			t.Errorf("after %v: %v", c.add, got)
		}
	}
}
