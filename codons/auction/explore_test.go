package auction

import (
	"errors"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// TestExploreAuctions explores an auctioneer and one to three bidders. All conversations end, and
// there are never two winners. Three bidders have more than four million states on the worst
// network. The long form has one and two on that network, of which one may never begin, and three
// without timeouts. The reduced form has two without timeouts, and three only in a Dutch auction on
// the calm network.
func TestExploreAuctions(t *testing.T) {
	racetest.Skip(t)
	for _, rules := range []machine.Coordination{EnglishCoordination(), DutchCoordination()} {
		t.Run(rules.Name, func(t *testing.T) {
			if exhaustive.Enabled() {
				explore(t, rules, 1, verify.Network{})
				explore(t, rules, 2, verify.Network{})
				explore(t, rules, 3, verify.Network{NoTimeouts: true, MaxStates: 8_000_000}) // an English one has 5.3 million
			}
			explore(t, rules, 2, verify.Network{NoTimeouts: true})
			explore(t, rules, 1, verify.Calm())
			explore(t, rules, 2, verify.Calm())
			if exhaustive.Enabled() || rules.Name == DutchCoordination().Name {
				explore(t, rules, 3, verify.Calm())
			}
		})
	}
}

// TestExploreBrokenAuctions breaks a rule. The exploration has to find the mistake.
func TestExploreBrokenAuctions(t *testing.T) {
	racetest.Skip(t)
	for name, c := range map[string]struct {
		rules  machine.Coordination
		change func(map[string]*machine.Rule)
		want   verify.Problem
	}{
		"two bids are accepted at a price": {DutchCoordination(), func(r map[string]*machine.Rule) {
			r[ruleAccept].Say[0].Max = 2
		}, verify.Forbidden},
		"a leader that is not outbid": {EnglishCoordination(), func(r map[string]*machine.Rule) {
			r[ruleOutbid].When = func(machine.Census) bool { return false }
		}, verify.Forbidden},
		"a sale while a round is open": {EnglishCoordination(), func(r map[string]*machine.Rule) {
			r[ruleNext].When = func(c machine.Census) bool { return answered(c) && c.Count(stateLeading) == 0 }
			r[ruleSell].When = func(machine.Census) bool { return true }
		}, verify.Forbidden},
		"a second sale when the first winner does not answer": {DutchCoordination(), func(r map[string]*machine.Rule) {
			r[ruleOver].When = func(machine.Census) bool { return false }
			r[ruleNext].When = func(c machine.Census) bool { return answered(c) && c.Count(stateLeading, stateWon, stateSold) == 0 }
		}, verify.Forbidden},
		"a bid that is not restored": {EnglishCoordination(), func(r map[string]*machine.Rule) {
			r[ruleRestore].When = func(machine.Census) bool { return false }
			r[ruleNext].Of = []machine.State{stateWaiting}
		}, verify.Stuck},
		"a winner that is not requested to settle": {EnglishCoordination(), func(r map[string]*machine.Rule) {
			r[ruleSettle].When = func(machine.Census) bool { return false }
		}, verify.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			c.rules.Rules = slices.Clone(c.rules.Rules)
			rules := map[string]*machine.Rule{}
			for i := range c.rules.Rules {
				rules[c.rules.Rules[i].Name] = &c.rules.Rules[i]
			}
			c.change(rules)
			net := verify.Network{NoTimeouts: true}
			if c.want == verify.Stuck { // timers would end it
				net = verify.Calm()
			}
			_, err := verify.ExploreGroup(c.rules, 2, net)
			var found *verify.GroupCounterexample
			if !errors.As(err, &found) || found.Problem != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			t.Log(err)
		})
	}
}

// TestPreferredBid has two bids at one price when a decision is made. The first in time wins in a
// Dutch auction, and the bidder named first in an English one.
func TestPreferredBid(t *testing.T) {
	for codon, want := range map[*codons.Codon]int{EnglishCodon: 0, DutchCodon: 1} {
		a := &Auction{codon: codon, members: []*initiatorSide{{}, {}}}
		a.members[0].arrival.Store(2)
		a.members[1].arrival.Store(1)
		if got := a.preferred([]int{0, 1}); got != want {
			t.Errorf("%s: bidder %d, want %d", codon.Name(), got, want)
		}
	}
}

// explore explores n conversations that the rules lead over a network.
func explore(t *testing.T, rules machine.Coordination, n int, net verify.Network) {
	t.Helper()
	if _, err := verify.ExploreGroup(rules, n, net); err != nil {
		t.Fatal(err)
	}
}
