package auction

import (
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
	return rules{EnglishCodon.Machine(), true}.coordination()
}

// DutchCoordination is [EnglishCoordination] for [DutchTable]: the bid that arrives first at the
// auctioneer is accepted at once and ends the bidding, although other bidders have not answered
// yet (XC00032F).
func DutchCoordination() machine.Coordination {
	return rules{DutchCodon.Machine(), false}.coordination()
}

// rules are the parameters of a coordination.
type rules struct {
	machine *machine.Machine
	rising  bool // the price rises
}

// Markdown returns the documentation of the coordination. It compiles the table, because the
// rules are part of the definition of the codon that has the machine.
func (r rules) Markdown() string {
	table := DutchTable
	if r.rising {
		table = EnglishTable
	}
	r.machine = table().MustCompile()
	return r.coordination().Markdown()
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

func (r rules) coordination() machine.Coordination {
	c := machine.Coordination{Name: r.machine.Name(), Machine: r.machine, Unbidden: []string{standard.CommandCancel}, Never: never()}
	if r.rising {
		c.Rules = risingRules()
	} else {
		c.Rules = fallingRules()
	}
	c.Rules = append(c.Rules,
		machine.Rule{
			Name: ruleSell, Doc: "only the leader is left",
			When: answered, Of: []machine.State{stateLeading},
			Say: []machine.Choice{{Command: commandSell, Max: 1}, {Command: commandOver}},
		},
		machine.Rule{
			Name: ruleSettle, Doc: "the winner was told that it has won",
			When: answered, Of: []machine.State{stateWon},
			Say: []machine.Choice{{Command: commandSettle}},
		})
	return c
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
