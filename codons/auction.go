package codons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// EnglishAuction sells to whoever bids most, and waits for the transaction: the
// auctioneer's side of [EnglishAuctionTable], with many. The price begins at the
// lot's Start and rises by its Step as long as anybody but the leader takes it. Each
// round ends when all have answered, or after the lot's RoundTime: who was silent is
// out. Of several who take a price, the first in the order of bidders leads. Should
// the leader be lost, the bid before counts, or else its price is called once more.
//
// Cancelling ctx withdraws the auction from all at any stage, waits for their
// receipts, and nobody has won. The transaction of the winner is part of the
// auction: should it fail, its error is returned beside the Sale, and the lot is not
// given to another. When there is no winner, the error joins [ErrNoSale] with why
// bidders were absent; it is that of [StartEnglishAuction] when nothing was begun.
// It must not be called on an agent's own actor.
func EnglishAuction(ctx context.Context, p Party, bidders []performatives.AgentID, lot Lot, opts ...Option) (Sale, error) {
	a, err := StartEnglishAuction(ctx, p, bidders, lot, opts...)
	if err != nil {
		return Sale{}, err
	}
	return a.Wait()
}

// DutchAuction is [EnglishAuction] with a price that begins at the lot's Start and
// falls by its Step, at last to its Reserve, until somebody takes it.
func DutchAuction(ctx context.Context, p Party, bidders []performatives.AgentID, lot Lot, opts ...Option) (Sale, error) {
	a, err := StartDutchAuction(ctx, p, bidders, lot, opts...)
	if err != nil {
		return Sale{}, err
	}
	return a.Wait()
}

// StartEnglishAuction is [EnglishAuction] without the wait. The error says that
// there are no bidders, or that one is there twice, or is the party itself, or what is
// wrong with the lot, or that the party cannot begin: then nobody bids any more.
func StartEnglishAuction(ctx context.Context, p Party, bidders []performatives.AgentID, lot Lot, opts ...Option) (*Auction, error) {
	return floor{englishAuction, true}.open(ctx, p, bidders, lot, opts)
}

// StartDutchAuction is [DutchAuction] without the wait. Its error also says that the
// reserve is above the first price.
func StartDutchAuction(ctx context.Context, p Party, bidders []performatives.AgentID, lot Lot, opts ...Option) (*Auction, error) {
	if lot.Reserve > lot.Start {
		return nil, unsound("reserve", fmt.Sprintf("at most the first price of %d, got %d", lot.Start, lot.Reserve))
	}
	return floor{dutchAuction, false}.open(ctx, p, bidders, lot, opts)
}

// Auction is an auction that was begun. Its methods may be called from any
// goroutine.
type Auction struct {
	floor   floor
	lot     Lot
	members []*offering
	group   *coordinator

	mu      sync.Mutex
	bidding bidding // a decision may come after all have ended
}

func (f floor) open(ctx context.Context, p Party, bidders []performatives.AgentID, lot Lot, opts []Option) (*Auction, error) {
	if err := f.check(p.Self().ID(), bidders); err != nil {
		return nil, err
	}
	lot.EndsBy = endsBy(ctx, lot)
	if lot.RoundTime <= 0 {
		lot.RoundTime = DefaultRoundTime
	}
	ctx, cancel := context.WithDeadline(ctx, lot.EndsBy)
	a := &Auction{floor: f, lot: lot, bidding: bidding{bids: make([]int64, len(bidders))}}
	a.group = newCoordinator(f.coordination(), a.decide)
	o := newOptions(opts)
	parted(ctx, len(bidders))(&o)
	if err := a.begin(ctx, p.Self(), bidders, o); err != nil {
		defer cancel()
		return nil, a.group.giveUp(err)
	}
	a.group.start(ctx, p.Self())
	p.Self().System().Work(func() { <-a.group.done; cancel() })
	return a, nil
}

func (f floor) check(auctioneer performatives.AgentID, bidders []performatives.AgentID) error {
	if len(bidders) == 0 {
		return fmt.Errorf("codons: %s: there are no bidders", f.machine.Name())
	}
	for i, id := range bidders {
		if id.Is(auctioneer) { // what it announces to itself would be taken for its own answers
			return fmt.Errorf("codons: %s: %q sells, and cannot bid", f.machine.Name(), id)
		}
		if slices.ContainsFunc(bidders[:i], id.Is) {
			return fmt.Errorf("codons: %s: %q bids twice", f.machine.Name(), id)
		}
	}
	return nil
}

// endsBy is until when an auction has to be over: never later than ctx allows.
func endsBy(ctx context.Context, lot Lot) time.Time {
	by, ok := ctx.Deadline()
	if !ok {
		by = time.Now().Add(DefaultDeadline)
	}
	if !lot.EndsBy.IsZero() && (!ok || lot.EndsBy.Before(by)) {
		by = lot.EndsBy
	}
	return by
}

// begin tells the bidders, one after the other, that the auction begins.
func (a *Auction) begin(ctx context.Context, self actors.Self, bidders []performatives.AgentID, o options) error {
	for _, id := range bidders {
		m := &offering{asker: asker{options: o}, lot: a.announced()}
		if err := m.prepare(ctx, self, a.floor.machine, id, performatives.ActInform, m.lot); err != nil {
			return err
		}
		if err := a.group.begin(ctx, self, a.floor.machine, &m.asker, m); err != nil {
			return err
		}
		a.members = append(a.members, m)
	}
	return nil
}

// announced is the lot as bidders see it.
func (a *Auction) announced() Lot {
	lot := a.lot
	lot.RoundTime = 0
	return lot
}

// Done is closed when the auction has ended with all bidders.
func (a *Auction) Done() <-chan struct{} { return a.group.done }

// Cancel withdraws the auction from all bidders. It does not wait for their ends.
func (a *Auction) Cancel() { a.group.cancel(context.Canceled) }

// Wait returns what came of the auction, as [EnglishAuction] does.
func (a *Auction) Wait() (Sale, error) {
	awaitEnd(a.members[0].conversation.self, a.group.done)
	var sale Sale
	var winner error
	errs := []error{ErrNoSale}
	for _, m := range a.members {
		switch {
		case m.hasWon():
			sale.Winner, sale.Price, sale.Result, winner = m.request.Receiver(), m.end.Price, m.result, m.err
		case m.err != nil:
			sale.Absent = append(sale.Absent, Absence{m.request.Receiver(), m.err})
			errs = append(errs, m.err)
		}
	}
	a.mu.Lock()
	sale.Rounds = a.bidding.round
	if sale.Winner == "" {
		sale.Price, winner = a.bidding.accepted, errors.Join(errs...)
	}
	a.mu.Unlock()
	if err := a.group.failed(); err != nil {
		return sale, err
	}
	return sale, winner
}

// bidding is where the bidding stands.
type bidding struct {
	round    int     // the prices that were called
	price    int64   // the latest of them
	bids     []int64 // the latest bid of each bidder that was accepted
	accepted int64   // the latest bid of all that was accepted
	held     bool    // there is one, and no price was called yet for the loss of its bidder
	fresh    bool    // it is at the latest price
}

// decide is the [decider] of an auction.
func (a *Auction) decide(_ context.Context, r *machine.Rule, at []machine.State) ([]order, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out, about := make([]order, len(at)), r.About(at)
	say := func(command string, data any) {
		for _, i := range about {
			out[i] = order{command, data}
		}
	}
	switch r.Name {
	case ruleStrike:
		say(commandSpurn, nil)
		out[about[0]] = order{commandStrike, a.strike(about[0])}
	case ruleNext:
		if price, more := a.next(at); more {
			say(commandCall, a.call(price))
		} else {
			say(commandOver, a.over(at))
		}
	case ruleHammer:
		out[about[0]] = a.hammer(about[0], at)
	case commandSettle:
		say(commandSettle, Purchase{a.announced(), a.bidding.bids[about[0]]})
	default: // the rules that leave no choice
		say(r.Say[0].Command, a.over(at))
	}
	return out, nil
}

// strike accepts a bid at the latest price.
func (a *Auction) strike(i int) PriceBid {
	b := &a.bidding
	b.bids[i], b.accepted, b.held, b.fresh = b.price, b.price, true, true
	return PriceBid{b.price, b.round}
}

// next is the price that is called next, if one is.
func (a *Auction) next(at []machine.State) (int64, bool) {
	b, leader := &a.bidding, slices.Index(at, stateLeading)
	switch {
	case b.round == 0:
		return a.lot.Start, true
	case leader >= 0: // the price rises, if it was taken
		price := b.bids[leader] + a.lot.Step
		return price, b.fresh && price > b.bids[leader]
	case b.held: // who led is lost
		b.held = false
		return b.accepted, true
	case a.floor.rising || b.price <= a.lot.Reserve:
		return 0, false
	}
	return max(b.price-a.lot.Step, a.lot.Reserve), true
}

// auctionCall is the content of a call, with its ReplyBy.
type auctionCall struct {
	offer Offer
	by    time.Time
}

// call begins a round.
func (a *Auction) call(price int64) auctionCall {
	b := &a.bidding
	b.round++
	b.price, b.fresh = price, false
	by := time.Now().Add(a.lot.RoundTime)
	if by.After(a.lot.EndsBy) {
		by = a.lot.EndsBy
	}
	return auctionCall{Offer{a.announced(), price, b.round}, by}
}

// over is what those learn who have not won.
func (a *Auction) over(at []machine.State) AuctionEnd {
	end := AuctionEnd{Item: a.lot.Item, Over: true}
	if leader := slices.Index(at, stateLeading); leader >= 0 && a.bidding.bids[leader] >= a.lot.Reserve {
		end.Sold, end.Price = true, a.bidding.bids[leader]
	}
	return end
}

// hammer sells to the leader, if its bid reaches the reserve.
func (a *Auction) hammer(leader int, at []machine.State) order {
	end := a.over(at)
	if !end.Sold {
		return order{commandOver, end}
	}
	end.Won = true
	return order{commandKnock, end}
}
