package scatter

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// TestExploreScatter explores groups of up to three delegations over a network that repeats
// messages and over one that delivers each once. All conversations end. The reduced form has three
// delegations only where both rules are used, and over the second network.
func TestExploreScatter(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct{ n, enough, least int }{
		{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 2, 2}, {3, 1, 1}, {3, 2, 2},
	} {
		for _, net := range []verify.Network{{Repeat: 1}, verify.Calm()} {
			if c.n == 3 && (net != verify.Calm() || c.least == 1) && !exhaustive.Enabled() {
				continue // hundreds of thousands of states
			}
			result, err := verify.ExploreGroup(Coordination(c.enough, c.least), c.n, net)
			if err != nil {
				t.Fatal(c, err)
			}
			t.Log(c, result)
		}
	}
}
