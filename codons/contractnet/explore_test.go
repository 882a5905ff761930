package contractnet

import (
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// TestExploreContractNets explores a caller and one to three bidders, over the worst network
// and over one that delivers. All conversations end, and there are never more winners than
// wanted.
func TestExploreContractNets(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name  string
		rules machine.Coordination
		worst int // the largest group that is explored over the worst network
	}{
		{"one winner", Coordination(1, false), 3},
		{"two winners", Coordination(2, false), 3},
		{"one winner and a reserve", Coordination(1, true), 3},
		{"two winners and a reserve", Coordination(2, true), 2},
		{"rounds", IteratedCoordination(1, false), 3},
		{"rounds and a reserve", IteratedCoordination(1, true), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			worst := c.worst
			if !exhaustive.Enabled() {
				worst = 2 // three bidders are 160,000 to 500,000 states on that network
			}
			for n := 1; n <= worst; n++ {
				explore(t, c.rules, n, verify.Network{})
			}
			for n := 1; n <= 3; n++ {
				explore(t, c.rules, n, verify.Calm())
			}
		})
	}
}

// TestBrokenContractNetsAreFound breaks a rule. The exploration has to find the mistake.
func TestBrokenContractNetsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		rules  machine.Coordination
		change func(*machine.Coordination)
		want   verify.Problem
	}{
		"one winner too many": {Coordination(1, false), func(c *machine.Coordination) {
			c.Rules[0].Say[0].Max = 2
		}, verify.Forbidden},
		"an award beside another": {Coordination(1, true), func(c *machine.Coordination) {
			c.Rules[0].When = func(c machine.Census) bool { return c.Count(machine.Idle, stateCalled) == 0 }
		}, verify.Forbidden},
		"an award while another is cancelled": {Coordination(1, true), func(c *machine.Coordination) {
			c.Rules[0].When = func(c machine.Census) bool {
				return c.Count(machine.Idle, stateCalled, stateAwarded) == 0 && c.Count(standard.StateCompleted) == 0
			}
		}, verify.Forbidden},
		"a reserve that is never released": {Coordination(1, true), func(c *machine.Coordination) {
			c.Rules = c.Rules[:1]
		}, verify.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			c.change(&c.rules)
			_, err := verify.ExploreGroup(c.rules, 2, verify.Calm())
			var found *verify.GroupCounterexample
			if !errors.As(err, &found) || found.Problem != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			t.Log(err)
		})
	}
}

// explore explores n conversations that the rules lead over a network.
func explore(t *testing.T, rules machine.Coordination, n int, net verify.Network) {
	t.Helper()
	if _, err := verify.ExploreGroup(rules, n, net); err != nil {
		t.Fatal(err)
	}
}
