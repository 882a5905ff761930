package auction

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// EnglishCoordination returns the rules of an auctioneer and many bidders. A round is over when
// each called bidder has answered, has left, or was silent for the time of the round. Then the bid
// that led is outbid, one of the new bids is accepted, and the next price is called to all bidders
// but the leader. When the leader is lost, the bid before leads again until a higher price is
// called. When no further price is called, the auction ends for all bidders but the leader; then
// the lot is sold to the leader, or not at all.
func EnglishCoordination() machine.Coordination {
	return coordination(EnglishCodon, risingRules())
}

// DutchCoordination is [EnglishCoordination] for [DutchTable]: the bid that arrives first at the
// auctioneer is accepted at once and ends the bidding, although other bidders have not answered
// yet (XC00032F).
func DutchCoordination() machine.Coordination {
	return coordination(DutchCodon, fallingRules())
}

func coordination(c *codons.Codon, bidding []machine.Rule) machine.Coordination {
	all := rules(bidding)
	all.Name, all.Machine = c.Name(), c.Machine()
	return all
}

// The names of the rules.
const (
	ruleOutbid  = "outbid"
	ruleAccept  = "accept a bid"
	ruleLost    = "lost"
	ruleRestore = "restore"
	ruleNext    = "next price"
	ruleOver    = "over"
	ruleSell    = "sell"
	ruleSettle  = "settle"
)

// answered reports whether the round is over, and no bidder is being cancelled.
func answered(c machine.Census) bool {
	return c.Count(machine.Idle, stateCalled, standard.StateCancelling) == 0
}

// rules returns those of an auction, given those of the bidding, for a codon that has no machine
// yet.
func rules(bidding []machine.Rule) machine.Coordination {
	return machine.Coordination{
		Unbidden: []string{standard.CommandCancel}, Never: never(),
		Rules: append(bidding,
			machine.Rule{
				Name: ruleSell, Doc: "only the leader is left",
				When: answered, Of: []machine.State{stateLeading},
				Say: []machine.Choice{{Command: commandSell, Max: 1}, {Command: commandOver}},
			},
			machine.Rule{
				Name: ruleSettle, Doc: "the winner was told that it has won",
				When: answered, Of: []machine.State{stateWon},
				Say: []machine.Choice{{Command: commandSettle}},
			}),
	}
}

// risingRules are the rules of the bidding while the price rises.
func risingRules() []machine.Rule {
	return []machine.Rule{
		{
			Name: ruleOutbid, Doc: "all bidders have answered, and there are bids at a higher price than the leader's",
			When: func(c machine.Census) bool { return answered(c) && c.Count(stateProposed) > 0 },
			Of:   []machine.State{stateLeading}, Say: []machine.Choice{{Command: commandOutbid}},
		},
		{
			Name: ruleAccept, Doc: "all bidders have answered, and there are bids",
			When: answered, Of: []machine.State{stateProposed},
			Say: []machine.Choice{{Command: commandAccept, Min: 1, Max: 1}, {Command: commandReject}},
		},
		{
			Name: ruleRestore, Doc: "the bidder of the highest bid is lost",
			When: func(c machine.Census) bool { return answered(c) && c.Count(stateLeading) == 0 },
			Of:   []machine.State{stateOutbid}, Say: []machine.Choice{{Command: commandRestore}},
		},
		{
			Name: ruleNext, Doc: "the leader is known", When: answered,
			Of: []machine.State{stateWaiting, stateOutbid}, Say: []machine.Choice{{Command: commandCall}, {Command: commandOver}},
		},
	}
}

// fallingRules are the rules of the bidding while the price falls.
func fallingRules() []machine.Rule {
	taken := func(c machine.Census) bool { return c.Count(stateLeading) > 0 }
	return []machine.Rule{
		{
			Name: ruleLost, Doc: "a price was taken, and this bid came later",
			When: taken, Of: []machine.State{stateProposed}, Say: []machine.Choice{{Command: commandReject}},
		},
		{
			Name: ruleAccept, Doc: "a bid has arrived: the first one takes the lot",
			When: func(c machine.Census) bool { return c.Count(stateLeading, stateWon, stateSold) == 0 },
			Of:   []machine.State{stateProposed},
			Say:  []machine.Choice{{Command: commandAccept, Min: 1, Max: 1}, {Command: commandReject}},
		},
		{
			Name: ruleOver, Doc: "a price was taken",
			When: taken, Of: []machine.State{stateWaiting, stateCalled}, Say: []machine.Choice{{Command: commandOver}},
		},
		{
			Name: ruleNext, Doc: "no bidder has taken the price", When: answered,
			Of: []machine.State{stateWaiting}, Say: []machine.Choice{{Command: commandCall}, {Command: commandOver}},
		},
	}
}

// never are the combinations of states that must not occur.
func never() []machine.Ban {
	return []machine.Ban{
		{
			Name: "two bids accepted at a time",
			When: func(initiator, _ machine.Census) bool { return initiator.Count(stateLeading, stateWon, stateSold) > 1 },
		},
		{
			Name: "two winners",
			When: func(initiator, responder machine.Census) bool {
				return initiator.Count(stateWon, stateSold, standard.StateCompleted) > 1 || responder.Count(statePurchasing, standard.StateCompleted) > 1
			},
		},
		{
			Name: "a sale while others may still bid",
			When: func(initiator, _ machine.Census) bool {
				return initiator.Count(stateWon, stateSold, standard.StateCompleted) > 0 && initiator.Count(stateCalled, stateProposed) > 0
			},
		},
	}
}
