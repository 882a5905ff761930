package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// EnglishAuctionCoordination returns the rules of an auctioneer and many bidders:
// a round is over once all who were called have answered or are out. Then the bid
// that led is outbid, one of the new ones accepted, and the next price called to all
// but the one who leads; should that one be lost, the bid before leads again, until a
// higher price is called. When no price is called any more, all but the leader are
// told so, and then it is sold to that one, or to nobody.
func EnglishAuctionCoordination() machine.Coordination {
	return floor{englishAuction, true}.coordination()
}

// DutchAuctionCoordination is [EnglishAuctionCoordination] where the first bid that
// is accepted ends the bidding.
func DutchAuctionCoordination() machine.Coordination {
	return floor{dutchAuction, false}.coordination()
}

// floor is what the rules of the two auctions depend on.
type floor struct {
	machine *machine.Machine
	rising  bool
}

// The names of the rules.
const (
	ruleStrike = "strike"
	ruleNext   = "next price"
	ruleHammer = "hammer"
)

// answered reports whether the round is over, and nobody leaves at this moment.
func answered(c machine.Census) bool {
	return c.Count(machine.Idle, stateCalled, stateCancelling) == 0
}

func (f floor) coordination() machine.Coordination {
	c := machine.Coordination{Name: f.machine.Name(), Machine: f.machine, Unbidden: []string{commandCancel}}
	strike := machine.Rule{
		Name: ruleStrike, Doc: "all have answered, and there are bids",
		When: answered, Of: []machine.State{stateProposed},
		Say: []machine.Choice{{Command: commandStrike, Min: 1, Max: 1}, {Command: commandSpurn}},
	}
	hammer := machine.Rule{
		Name: ruleHammer, Doc: "nobody but the leader is left",
		When: answered, Of: []machine.State{stateLeading},
		Say: []machine.Choice{{Command: commandKnock, Max: 1}, {Command: commandOver}},
	}
	settle := machine.Rule{
		Name: commandSettle, Doc: "the winner knows that it is the winner",
		When: answered, Of: []machine.State{stateWon},
		Say: []machine.Choice{{Command: commandSettle}},
	}
	if f.rising {
		c.Rules = append(f.rise(strike), hammer, settle)
	} else {
		c.Rules = append(f.fall(strike), hammer, settle)
	}
	c.Never = auctionNever()
	return c
}

// rise are the rules of the bidding while the price rises.
func (f floor) rise(strike machine.Rule) []machine.Rule {
	return []machine.Rule{
		{
			Name: commandOutbid, Doc: "all have answered, and there are bids at a higher price than the leader's",
			When: func(c machine.Census) bool { return answered(c) && c.Count(stateProposed) > 0 },
			Of:   []machine.State{stateLeading}, Say: []machine.Choice{{Command: commandOutbid}},
		},
		strike,
		{
			Name: commandRestore, Doc: "who had bid more than the leader is lost",
			When: func(c machine.Census) bool { return answered(c) && c.Count(stateLeading) == 0 },
			Of:   []machine.State{stateOutbid}, Say: []machine.Choice{{Command: commandRestore}},
		},
		{
			Name: ruleNext, Doc: "it is known who leads", When: answered,
			Of: []machine.State{stateWaiting, stateOutbid}, Say: []machine.Choice{{Command: commandCall}, {Command: commandOver}},
		},
	}
}

// fall are the rules of the bidding while the price falls.
func (f floor) fall(strike machine.Rule) []machine.Rule {
	return []machine.Rule{
		strike,
		{
			Name: "over", Doc: "a price was taken",
			When: func(c machine.Census) bool { return answered(c) && c.Count(stateLeading) > 0 },
			Of:   []machine.State{stateWaiting}, Say: []machine.Choice{{Command: commandOver}},
		},
		{
			Name: ruleNext, Doc: "nobody has taken the price", When: answered,
			Of: []machine.State{stateWaiting}, Say: []machine.Choice{{Command: commandCall}, {Command: commandOver}},
		},
	}
}

// auctionNever is what must not come about.
func auctionNever() []machine.Never {
	return []machine.Never{
		{
			Name: "two bids accepted at a time",
			When: func(initiator, _ machine.Census) bool { return initiator.Count(stateLeading, stateWon, stateSold) > 1 },
		},
		{
			Name: "two winners",
			When: func(initiator, responder machine.Census) bool {
				return initiator.Count(stateWon, stateSold, stateCompleted) > 1 || responder.Count(stateSettling, stateCompleted) > 1
			},
		},
		{
			Name: "a sale while others may still bid",
			When: func(initiator, _ machine.Census) bool {
				return initiator.Count(stateWon, stateSold, stateCompleted) > 0 && initiator.Count(stateCalled, stateProposed) > 0
			},
		},
	}
}
