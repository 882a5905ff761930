package auction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/group"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// English sells the lot to the highest bidder, and waits for the transaction. The first price is
// lot.Start. It rises by lot.Step as long as a bidder other than the leader takes it. Each round
// ends when all bidders have answered, or after lot.RoundTime. A bidder without an answer has made
// no bid, and hears the next price. Of several bidders that take a price, the one named first
// leads. When the leader is lost, the bid before leads again; without one, the price of the lost
// bid is called once more.
//
// The end of ctx withdraws the auction from all bidders, at any stage; English returns
// after their receipts, and there is no winner. When the transaction fails, its error is
// returned beside the Sale, and the lot is not sold to another bidder. Without a winner,
// the error joins [ErrNoSale] with the reasons for which bidders were absent. An error of
// [StartEnglish] comes with the zero Sale.
// English blocks and must not be called on an agent's own actor.
func English(ctx context.Context, p codons.Party, bidders []performatives.AgentID, lot Lot, opts ...codons.Option) (Sale, error) {
	a, err := StartEnglish(ctx, p, bidders, lot, opts...)
	if err != nil {
		return Sale{}, err
	}
	return a.Wait()
}

// Dutch is [English] with a price that begins at lot.Start and falls by lot.Step, at last
// to lot.Reserve, until a bidder takes it. The bid that arrives first takes the lot, without
// the answers of the other bidders.
func Dutch(ctx context.Context, p codons.Party, bidders []performatives.AgentID, lot Lot, opts ...codons.Option) (Sale, error) {
	a, err := StartDutch(ctx, p, bidders, lot, opts...)
	if err != nil {
		return Sale{}, err
	}
	return a.Wait()
}

// StartEnglish is [English] without the wait. The error is for no bidders, a bidder named twice,
// the auctioneer as a bidder, an invalid lot, or a party that cannot begin a conversation. With an
// error no bidder takes part any more.
func StartEnglish(ctx context.Context, p codons.Party, bidders []performatives.AgentID, lot Lot, opts ...codons.Option) (*Auction, error) {
	return start(ctx, EnglishCodon, p, bidders, lot, opts)
}

// StartDutch is [Dutch] without the wait. Its errors are those of [StartEnglish], and that
// the reserve is above the first price.
func StartDutch(ctx context.Context, p codons.Party, bidders []performatives.AgentID, lot Lot, opts ...codons.Option) (*Auction, error) {
	if lot.Reserve > lot.Start {
		return nil, invalid("reserve", fmt.Sprintf("at most the first price of %d, got %d", lot.Start, lot.Reserve))
	}
	return start(ctx, DutchCodon, p, bidders, lot, opts)
}

// Sale is the result of an auction.
type Sale struct {
	Winner performatives.AgentID // empty when the lot was not sold
	// Price is the price that the winner pays. Without a winner it is the highest bid,
	// which did not reach the reserve, or zero.
	Price  int64
	Result performatives.InformResult // of the transaction
	Rounds int                        // the number of called prices
	Absent []Absence                  // in the order of the bidders
}

// Absence is a bidder that did not stay to the end of an auction.
type Absence struct {
	Bidder performatives.AgentID
	// Err is an [*codons.EndError] whose State says how it left: refused, not_understood,
	// failed, timed_out (the auction had to be over), cancelled.
	Err error
}

// ErrNoSale says that no bid reached the reserve, or that there was none. It is joined with
// the reasons for which bidders were absent.
var ErrNoSale = errors.New("auction: the lot was not sold")

// Auction is an auction under way. Its methods may be called from any goroutine.
type Auction struct {
	self     actors.Self
	codon    *codons.Codon
	lot      Lot
	members  []*initiatorSide // one for each bidder, in the order of the bidders
	group    *group.Group
	arrivals atomic.Int64 // the number of bids that have arrived

	mu      sync.Mutex
	bidding bidding // guarded by mu: a decision may outlive the members
}

func start(ctx context.Context, c *codons.Codon, p codons.Party, bidders []performatives.AgentID, lot Lot, opts []codons.Option) (*Auction, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	if err := checkBidders(c, self.ID(), bidders); err != nil {
		return nil, err
	}
	ctx, cancel := codons.Bounded(ctx, lot.EndsBy)
	lot.EndsBy, _ = ctx.Deadline()
	lot.RoundTime = cmp.Or(max(lot.RoundTime, 0), DefaultRoundTime)
	a := &Auction{self: self, codon: c, lot: lot, bidding: bidding{bids: make([]int64, len(bidders))}}
	a.group = group.New(a.coordination(), a.decide)
	o := codons.NewOptions(opts...)
	o.Apply(codons.WithBudgetShare(ctx, len(bidders)))
	if err := a.begin(ctx, bidders, o); err != nil {
		defer cancel()
		return nil, a.group.GiveUp(err)
	}
	a.group.Start(ctx, a.self)
	a.self.System().Work(func() { <-a.group.Done(); cancel() })
	return a, nil
}

// checkBidders refuses the auctioneer as a bidder: the messages to its own bidder's side
// would be taken for the answers of that side.
func checkBidders(c *codons.Codon, auctioneer performatives.AgentID, bidders []performatives.AgentID) error {
	if len(bidders) == 0 {
		return fmt.Errorf("auction: %s: there are no bidders", c.Name())
	}
	for i, id := range bidders {
		if id.Is(auctioneer) {
			return fmt.Errorf("auction: %s: the auctioneer %q cannot bid", c.Name(), id)
		}
		if slices.ContainsFunc(bidders[:i], id.Is) {
			return fmt.Errorf("auction: %s: bidder %q is named twice", c.Name(), id)
		}
	}
	return nil
}

// rising reports whether the price rises.
func (a *Auction) rising() bool { return a.codon == EnglishCodon }

func (a *Auction) coordination() machine.Coordination {
	if a.rising() {
		return EnglishCoordination()
	}
	return DutchCoordination()
}

// begin opens the conversations with the bidders, one after the other.
func (a *Auction) begin(ctx context.Context, bidders []performatives.AgentID, o codons.Options) error {
	for _, id := range bidders {
		m := &initiatorSide{arrivals: &a.arrivals}
		err := m.Prepare(ctx, a.self, codons.Opening{Codon: a.codon, To: id, Act: performatives.ActInform, Payload: a.sentLot(), Options: o})
		if err != nil {
			return err
		}
		if err := a.group.Begin(ctx, a.self, &m.InitiatorSide, m); err != nil {
			return err
		}
		a.members = append(a.members, m)
	}
	return nil
}

// sentLot returns the lot as messages carry it.
func (a *Auction) sentLot() Lot {
	lot := a.lot
	lot.RoundTime = 0
	return lot
}

// Done is closed when the conversations with all bidders have ended.
func (a *Auction) Done() <-chan struct{} { return a.group.Done() }

// Cancel withdraws the auction from all bidders. It does not wait for their receipts.
func (a *Auction) Cancel() { a.group.Cancel(context.Canceled) }

// Wait waits until [Auction.Done] is closed and returns the result, as [English] does. It
// may be called more than once.
func (a *Auction) Wait() (Sale, error) {
	codons.AwaitEnd(a.self, a.group.Done())
	var sale Sale
	var winner error
	errs := []error{ErrNoSale}
	for _, m := range a.members {
		switch {
		case m.hasWon():
			sale.Winner, sale.Price, sale.Result, winner = m.Request().Receiver(), m.kept.End.Price, m.result, m.Err()
		case m.Err() != nil:
			sale.Absent = append(sale.Absent, Absence{m.Request().Receiver(), m.Err()})
			errs = append(errs, m.Err())
		}
	}
	a.mu.Lock()
	sale.Rounds = a.bidding.round
	if sale.Winner == "" {
		sale.Price, winner = a.bidding.accepted, errors.Join(errs...)
	}
	a.mu.Unlock()
	if err := a.group.Failed(); err != nil {
		return sale, err
	}
	return sale, winner
}

// decide is the [group.Decider] of an auction.
func (a *Auction) decide(_ context.Context, r *machine.Rule, at []machine.State) ([]codons.Command, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	commands, about := make([]codons.Command, len(at)), r.About(at)
	all := func(command string, data any) {
		for _, i := range about {
			commands[i] = codons.Command{Name: command, Data: data}
		}
	}
	switch r.Name {
	case ruleAccept:
		all(commandReject, nil)
		best := a.preferred(about)
		commands[best] = codons.Command{Name: commandAccept, Data: a.bidding.accept(best)}
	case ruleNext:
		if price, more := a.nextPrice(at); more {
			all(commandCall, a.call(price))
		} else {
			all(commandOver, a.end(at))
		}
	case ruleSell:
		commands[about[0]] = a.sell(at)
	case ruleSettle:
		all(commandSettle, Purchase{a.sentLot(), a.bidding.bids[about[0]]})
	case ruleOver:
		all(commandOver, a.end(at))
	default: // the rules that leave no choice
		all(r.Say[0].Command, nil)
	}
	return commands, nil
}
