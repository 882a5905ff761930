package codons

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// priceScript is the bidder's side of one auction.
type priceScript struct {
	seat    *seat
	until   time.Time // when the auction has to be over
	bids    []PriceBid
	handler *handler              // the latest; nil before the first
	place   atomic.Pointer[place] // held between the prices, while no handler runs
}

// until is when the auction that m is the first message of has to be over.
func (b *seat) until(m *performatives.Message) time.Time {
	lot, err := performatives.PayloadAs[Lot](m)
	if m.Performative() == performatives.ActCFP {
		var offer Offer
		offer, err = performatives.PayloadAs[Offer](m)
		lot = offer.Lot
	}
	if err != nil || lot.EndsBy.IsZero() {
		return time.Now().Add(b.times.Deadline)
	}
	return lot.EndsBy
}

func (s *priceScript) run(c *conversation, job string) {
	if job == jobSettle {
		s.start(c, s.place.Swap(nil), s.settle(c))
		return
	}
	offer, err := performatives.PayloadAs[Offer](c.request)
	switch {
	case err != nil:
		name, data := turndown(err)
		c.happen(happening{on: machine.Command(name), data: data})
	case c.request.Expired(time.Now()):
		s.decline(c, performatives.CodeExpired, "")
	default:
		s.consider(c, offer)
	}
}

// consider has the agent consider a price, if it has room for the auction.
func (s *priceScript) consider(c *conversation, offer Offer) {
	p := s.place.Swap(nil)
	if p == nil {
		p = s.seat.take()
	}
	if p == nil {
		s.decline(c, performatives.CodeBusy, s.seat.full())
		return
	}
	s.start(c, p, s.price(c, p, offer))
}

func (s *priceScript) start(c *conversation, p *place, work func(context.Context, *handler) (string, any)) {
	h, err := newHandler(c, s.seat.times.deadline(c.request), p, work)
	if err != nil {
		p.giveBack()
		name, data := turndown(err)
		c.happen(happening{on: machine.Command(name), data: data})
		return
	}
	s.handler = h
	c.self.System().Work(h.run)
}

func (s *priceScript) decline(c *conversation, code performatives.Code, text string) {
	s.leave()
	c.happen(happening{
		on:   machine.Command(commandRefuse),
		data: performatives.Refuse{ReasonCode: code, ReasonText: text},
	})
}

// price is the handler that takes a price or passes. Either keeps the agent's place.
func (s *priceScript) price(c *conversation, p *place, offer Offer) func(context.Context, *handler) (string, any) {
	offered := Offered{Offer: offer, Message: c.request, Agent: c.self, Bids: slices.Clone(s.bids)}
	return func(ctx context.Context, h *handler) (string, any) {
		takes, err := s.seat.bidder.ConsiderPrice(ctx, offered)
		if r := asRefusal(err); err != nil && (r == nil || r.Code != performatives.CodeRejected) {
			return turndown(err)
		}
		h.place = nil
		s.place.Store(p)
		if c.Over() { // it has perhaps looked for the place too early
			s.leave()
		}
		if err != nil || !takes {
			return commandPass, performatives.Refuse{ReasonCode: performatives.CodeRejected, ReasonText: "not at this price"}
		}
		return commandPropose, PriceBid{offer.Price, offer.Round}
	}
}

// settle is the handler of the transaction, at the price that the agent has bid.
func (s *priceScript) settle(c *conversation) func(context.Context, *handler) (string, any) {
	won, err := performatives.PayloadAs[Purchase](c.request)
	if bid := s.bids[len(s.bids)-1].Price; err == nil && won.Price != bid {
		err = unsound("price", fmt.Sprintf("the %d that was bid, got %d", bid, won.Price))
	}
	bought := Bought{Purchase: won, Message: c.request, Agent: c.self}
	return func(ctx context.Context, _ *handler) (string, any) {
		if err != nil {
			return commandFail, failureOf(err)
		}
		result, err := s.seat.bidder.SettlePurchase(ctx, bought)
		if err != nil {
			return commandFail, failureOf(err)
		}
		return c.answerWith(commandFinish, performatives.ActInformResult, result)
	}
}

// leave gives back the place of an auction in which no handler runs.
func (s *priceScript) leave() { s.place.Swap(nil).giveBack() }

// stop ends the handler's context.
func (s *priceScript) stop(c *conversation, _ string) {
	if s.handler != nil { // the agent may stop as it declines
		s.handler.cancel(c.cause())
	}
}

func (s *priceScript) payload(c *conversation, e machine.Effect, data any) any {
	switch {
	case e.Name == tagReceipt:
		s.leave() // before the auctioneer learns of it
		return receipt
	case e.Act == performatives.ActPropose:
		s.bids = append(s.bids, data.(PriceBid)) //nolint:forcetypeassert // price made it
	case e.Act == performatives.ActFailure && data == nil:
		return c.failure()
	case e.Act == performatives.ActFailure:
		return asFailure(data)
	}
	return data
}

func (s *priceScript) report(*conversation, string, *performatives.Message) {}

func (s *priceScript) timer(c *conversation, name string) time.Duration {
	switch c.state.State { //nolint:exhaustive // in the others no handler runs
	case stateConsidering, stateSettling, stateCancelling:
		return s.seat.times.timer(c, name)
	}
	return time.Until(s.until)
}

func (s *priceScript) tag(m *performatives.Message) string { return auctionTag(m) }

// ended gives back what the conversation holds, and has an eye on a handler that
// outlives it.
func (s *priceScript) ended(*conversation, *performatives.Message) {
	s.leave()
	s.handler.leaveBehind(s.seat.times.Grace)
}

func (s *priceScript) abandoned(*conversation, error) {}
