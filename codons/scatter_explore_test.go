package codons

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// TestExploreScatter explores groups of up to three delegations on networks good and
// bad, in which whatever is not needed any more is cancelled.
func TestExploreScatter(t *testing.T) {
	for _, c := range []struct{ n, enough, least int }{
		{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 2, 2}, {3, 1, 1}, {3, 2, 2},
	} {
		for _, net := range []machine.Network{{Repeat: 1}, machine.Calm()} {
			result, err := machine.ExploreGroup(ScatterRules(c.enough, c.least), c.n, net)
			if err != nil {
				t.Fatal(c, err)
			}
			t.Log(c, result)
		}
	}
}
