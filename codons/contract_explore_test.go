package codons

import (
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// TestExploreContractNets explores a caller and one to three bidders, over the worst
// network and one that delivers: all come to an end, and there are never more
// winners than wanted.
func TestExploreContractNets(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules machine.Coordination
		worst int // the largest group that is explored over the worst network
	}{
		{"one winner", ContractNetCoordination(1, false), 3},
		{"two winners", ContractNetCoordination(2, false), 3},
		{"one winner and a reserve", ContractNetCoordination(1, true), 3},
		{"two winners and a reserve", ContractNetCoordination(2, true), 2},
		{"rounds", IteratedContractNetCoordination(1, false), 3},
		{"rounds and a reserve", IteratedContractNetCoordination(1, true), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; n <= c.worst; n++ {
				exploreGroup(t, "worst", c.rules, n, machine.Network{})
			}
			for n := 1; n <= 3; n++ {
				exploreGroup(t, "calm", c.rules, n, machine.Calm())
			}
		})
	}
}

func exploreGroup(t *testing.T, network string, c machine.Coordination, n int, net machine.Network) {
	t.Helper()
	result, err := machine.ExploreGroup(c, n, net)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(network, result)
}

// TestBrokenContractNetsAreFound breaks the rules the way a mistake would.
func TestBrokenContractNetsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		rules  machine.Coordination
		change func(*machine.Coordination)
		want   machine.Problem
	}{
		"a winner too many": {ContractNetCoordination(1, false), func(c *machine.Coordination) {
			c.Rules[0].Say[0].Max = 2
		}, machine.Forbidden},
		"an award beside another": {ContractNetCoordination(1, true), func(c *machine.Coordination) {
			c.Rules[0].When = func(c machine.Census) bool { return c.Count(machine.Idle, stateCalled) == 0 }
		}, machine.Forbidden},
		"an award while another is withdrawn": {ContractNetCoordination(1, true), func(c *machine.Coordination) {
			c.Rules[0].When = func(c machine.Census) bool {
				return c.Count(machine.Idle, stateCalled, stateAwarded) == 0 && c.Count(stateCompleted) == 0
			}
		}, machine.Forbidden},
		"reserves that nobody releases": {ContractNetCoordination(1, true), func(c *machine.Coordination) {
			c.Rules = c.Rules[:1]
		}, machine.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			c.change(&c.rules)
			_, err := machine.ExploreGroup(c.rules, 2, machine.Calm())
			var found *machine.GroupCounterexample
			if !errors.As(err, &found) || found.Problem != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			t.Log(err)
		})
	}
}
