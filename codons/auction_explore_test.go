package codons

import (
	"errors"
	"flag"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

var exhaustive = flag.Bool("exhaustive", false, "explore also the largest groups over the worst network")

// TestExploreAuctions explores an auctioneer and one to three bidders: all come to
// an end, and there never are two winners. Three bidders over the worst network are
// 2.7 million states of an English auction, which take most of a minute: without
// -exhaustive, no timers expire there.
func TestExploreAuctions(t *testing.T) {
	for _, rules := range []machine.Coordination{EnglishAuctionCoordination(), DutchAuctionCoordination()} {
		t.Run(rules.Name, func(t *testing.T) {
			for n := 1; n <= 3; n++ {
				exploreGroup(t, "worst", rules, n, machine.Network{NoTimeouts: n == 3 && !*exhaustive})
				exploreGroup(t, "calm", rules, n, machine.Calm())
			}
		})
	}
}

// misprice is the bidder that bids twice, or another price than was called, or does
// not stand by its bid; and in a Dutch auction the auctioneer that has a bid outbid.
// Verdicts on earlier bids come late to live bidders, too: the explorer, which knows
// what is late only of answers, has them taken as those of now.
func misprice(rising bool) []string {
	steps := []string{
		"initiator in called on receive PROPOSE (unreadable)", "initiator in called on stale PROPOSE", "initiator in called on stale REFUSE",
		"initiator in sold on receive REFUSE", "initiator in sold on receive NOT_UNDERSTOOD",
	}
	for _, s := range (auction{rising: rising}).selling() {
		if s != stateCalled {
			steps = append(steps, "initiator in "+string(s)+" on receive PROPOSE")
		}
	}
	if !rising {
		steps = append(steps, "responder in leading on receive CFP")
	}
	for _, s := range resting() {
		steps = append(steps, "responder in "+string(s)+" on stale ACCEPT_PROPOSAL", "responder in "+string(s)+" on stale REJECT_PROPOSAL")
	}
	if !rising {
		for _, s := range []machine.State{stateConsidering, statePassed, stateRefused, stateNotUnderstood} {
			steps = append(steps, "responder in "+string(s)+" on receive ACCEPT_PROPOSAL")
		}
	}
	return steps
}

// TestBrokenAuctionsAreFound breaks the rules the way a mistake would.
func TestBrokenAuctionsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		rules  machine.Coordination
		change func(map[string]*machine.Rule)
		want   machine.Problem
	}{
		"two bids are accepted at a price": {DutchAuctionCoordination(), func(r map[string]*machine.Rule) {
			r[ruleStrike].Say[0].Max = 2
		}, machine.Forbidden},
		"a leader that is not outbid": {EnglishAuctionCoordination(), func(r map[string]*machine.Rule) {
			r[commandOutbid].When = func(machine.Census) bool { return false }
		}, machine.Forbidden},
		"a sale while a round is open": {EnglishAuctionCoordination(), func(r map[string]*machine.Rule) {
			r[ruleNext].When = func(c machine.Census) bool { return answered(c) && c.Count(stateLeading) == 0 }
			r[ruleHammer].When = func(machine.Census) bool { return true }
		}, machine.Forbidden},
		"a second sale when the first is silent": {DutchAuctionCoordination(), func(r map[string]*machine.Rule) {
			r["over"].When = func(machine.Census) bool { return false }
			r[ruleNext].When = func(c machine.Census) bool { return answered(c) && c.Count(stateLeading, stateWon, stateSold) == 0 }
		}, machine.Forbidden},
		"a bid that nobody restores": {EnglishAuctionCoordination(), func(r map[string]*machine.Rule) {
			r[commandRestore].When = func(machine.Census) bool { return false }
			r[ruleNext].Of = []machine.State{stateWaiting}
		}, machine.Stuck},
		"a winner that is asked for nothing": {EnglishAuctionCoordination(), func(r map[string]*machine.Rule) {
			r[commandSettle].When = func(machine.Census) bool { return false }
		}, machine.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			c.rules.Rules = slices.Clone(c.rules.Rules)
			rules := map[string]*machine.Rule{}
			for i := range c.rules.Rules {
				rules[c.rules.Rules[i].Name] = &c.rules.Rules[i]
			}
			c.change(rules)
			net := machine.Network{}
			if c.want == machine.Stuck { // timers would end it
				net = machine.Calm()
			}
			_, err := machine.ExploreGroup(c.rules, 2, net)
			var found *machine.GroupCounterexample
			if !errors.As(err, &found) || found.Problem != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			t.Log(err)
		})
	}
}
