package auction

import (
	"cmp"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// bidding is the state of the bidding: the called prices and the accepted bids.
type bidding struct {
	round    int     // the number of called prices
	price    int64   // the latest of them
	bids     []int64 // the latest accepted bid of each bidder, in the order of the bidders
	accepted int64   // the latest accepted bid of all
	held     bool    // there is an accepted bid whose price was not called again for the loss of its bidder
	fresh    bool    // accepted is at the latest price
}

// accept accepts the bid of bidder i at the latest price.
func (b *bidding) accept(i int) PriceBid {
	b.bids[i], b.accepted, b.held, b.fresh = b.price, b.price, true, true
	return PriceBid{b.price, b.round}
}

// preferred returns the bidder whose bid is accepted, of several that have taken the latest price:
// the first in time where the price falls, and the one that was named first where it rises.
func (a *Auction) preferred(about []int) int {
	if a.rising() {
		return about[0]
	}
	return slices.MinFunc(about, func(i, j int) int { return cmp.Compare(a.members[i].arrival.Load(), a.members[j].arrival.Load()) })
}

// nextPrice returns the next price; more is false when there is none.
func (a *Auction) nextPrice(at []machine.State) (price int64, more bool) {
	b, leader := &a.bidding, slices.Index(at, stateLeading)
	switch {
	case b.round == 0:
		return a.lot.Start, true
	case leader >= 0: // the price rises only after a bid at the latest price
		price := b.bids[leader] + a.lot.Step
		return price, b.fresh && price > b.bids[leader]
	case b.held: // the leader is lost
		b.held = false
		return b.accepted, true
	case a.rising() || b.price <= a.lot.Reserve:
		return 0, false
	}
	return max(b.price-a.lot.Step, a.lot.Reserve), true
}

// calledPrice is the content of a call, with its ReplyBy.
type calledPrice struct {
	Offer Offer     `json:"offer"`
	By    time.Time `json:"by"`
}

// call begins a round.
func (a *Auction) call(price int64) calledPrice {
	b := &a.bidding
	b.round++
	b.price, b.fresh = price, false
	by := time.Now().Add(a.lot.RoundTime)
	if by.After(a.lot.EndsBy) {
		by = a.lot.EndsBy
	}
	return calledPrice{Offer{a.sentLot(), price, b.round}, by}
}

// end returns the content of the INFORM to the bidders that have not won.
func (a *Auction) end(at []machine.State) End {
	end := End{Item: a.lot.Item, Over: true}
	if leader := slices.Index(at, stateLeading); leader >= 0 && a.bidding.bids[leader] >= a.lot.Reserve {
		end.Sold, end.Price = true, a.bidding.bids[leader]
	}
	return end
}

// sell sells to the leader when its bid reaches the reserve.
func (a *Auction) sell(at []machine.State) codons.Command {
	end := a.end(at)
	if !end.Sold {
		return codons.Command{Name: commandOver, Data: end}
	}
	end.Won = true
	return codons.Command{Name: commandSell, Data: end}
}
