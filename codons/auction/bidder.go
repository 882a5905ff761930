package auction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bidder is an agent that bids in auctions: the responder of [EnglishTable] and
// [DutchTable]. Both methods run on goroutines of the conversation, concurrently with
// others. They must not touch the agent's fields other than by [actors.Self.Do], and
// should return soon after the end of ctx. An auction holds one of the agent's slots
// ([codons.TaskLimiter]) from the first price to the end.
type Bidder interface {
	actors.Agent
	// ConsiderPrice reports whether the agent takes the lot at the price of the offer. True
	// binds the agent until another price is called or the auction is over. False passes:
	// it is sent as REFUSE with the code rejected, and the agent gets the next price. ctx
	// ends with the round. An agent that has not decided by then has made no bid, and gets the next
	// price when the method has returned; what it returns then is dropped.
	//
	// A [*performatives.Refusal] with the code rejected passes, too. One with another code
	// is sent as REFUSE, NOT_UNDERSTOOD or FAILURE, depending on the code, and the agent
	// leaves the auction. Any other error, and a panic, is sent as FAILURE without its
	// text.
	ConsiderPrice(ctx context.Context, o Offered) (bool, error)

	// SettlePurchase carries out the transaction that the agent has won, and returns its
	// result. ctx ends on CANCEL, when the auction has to be over, or when the agent stops.
	// Errors are sent as those of [delegation.Worker].PerformTask are.
	SettlePurchase(ctx context.Context, b Bought) (performatives.InformResult, error)
}

// Offered is a lot at a price that an agent may take.
type Offered struct {
	Offer
	Message *performatives.Message // the CFP; its ReplyBy is the end of the round
	Agent   actors.Self            // the handle of the bidder
	Bids    []PriceBid             // the agent's bids of earlier rounds; belongs to the method
}

// Falling reports whether the price falls: it is a Dutch auction.
func (o Offered) Falling() bool { return o.Message.Protocol() == DutchCodon.Name() }

// Bought is a lot that an agent has won.
type Bought struct {
	Purchase
	Message *performatives.Message // the REQUEST; its ReplyBy is the time by which the transaction is due
	Agent   actors.Self            // the handle of the winner
}

// newResponder returns the responder of a bidder in one of the auctions. It holds the slot of the
// first price to the end.
func newResponder(self actors.Self, bidder Bidder, c *codons.Codon, t codons.Times) actors.Responder {
	return codons.NewResponder(self, bidder, codons.ResponderOptions{
		Codon: c, Times: t,
		Works: []codons.Work{
			{Job: standard.JobConsider, Holds: consideredEnds(), Do: func(s codons.Side) func(context.Context, *codons.Handler) codons.Command {
				return s.(*responderSide).consider(bidder)
			}},
			{Job: jobSettle, Do: func(s codons.Side) func(context.Context, *codons.Handler) codons.Command {
				return s.(*responderSide).settle(bidder)
			}},
		},
	})
}

// consideredEnds returns the last commands of [standard.JobConsider]. After each of them the bidder
// may still be in the auction: when the round is over, they all count as silence.
func consideredEnds() []string {
	return []string{commandPropose, commandPass, standard.CommandRefuse, standard.CommandNotUnderstood, standard.CommandFail}
}

// notAtThisPrice returns the command for a price that is not taken.
func notAtThisPrice() codons.Command {
	return codons.Command{Name: commandPass, Data: performatives.Refuse{ReasonCode: performatives.CodeRejected, ReasonText: "not at this price"}}
}

// responderSide is the bidder's side of one auction.
type responderSide struct {
	*codons.ResponderSide
	kept responderData
}

func responding(r *codons.ResponderSide) codons.Side { return &responderSide{ResponderSide: r} }

// responderData is the data of the bidder's side.
type responderData struct {
	Began time.Time  `json:"began"` // the time of the first message
	Until time.Time  `json:"until"` // the time by which the auction has to be over; zero when the first message does not say
	Bids  []PriceBid `json:"bids"`  // of all rounds
}

// Data returns the data that Reduce keeps.
func (s *responderSide) Data() any { return s.kept }

// endsByOf returns the time by which the auction that m opens has to be over, zero when m does
// not say.
func endsByOf(m *performatives.Message) time.Time {
	lot, err := performatives.PayloadAs[Lot](m)
	if m.Performative() == performatives.ActCFP {
		var offer Offer
		offer, err = performatives.PayloadAs[Offer](m)
		lot = offer.Lot
	}
	if err != nil {
		return time.Time{}
	}
	return lot.EndsBy
}

// consider returns the handler that takes a price or passes.
func (s *responderSide) consider(bidder Bidder) func(context.Context, *codons.Handler) codons.Command {
	bids := slices.Clone(s.kept.Bids)
	return func(ctx context.Context, h *codons.Handler) codons.Command {
		offer, err := performatives.PayloadAs[Offer](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		if ctx.Err() != nil { // the price arrived after its round
			return notAtThisPrice()
		}
		takes, err := bidder.ConsiderPrice(ctx, Offered{Offer: offer, Message: h.Message(), Agent: h.Agent(), Bids: bids})
		switch r := performatives.RefusalOf(err); {
		case err != nil && ctx.Err() == nil && (r == nil || r.Code != performatives.CodeRejected):
			return h.TurnDown(err)
		case err != nil || !takes:
			return notAtThisPrice()
		}
		return codons.Command{Name: commandPropose, Data: PriceBid{offer.Price, offer.Round}}
	}
}

// settle returns the handler of the transaction. It fails at another price than that of the
// agent's latest bid.
func (s *responderSide) settle(bidder Bidder) func(context.Context, *codons.Handler) codons.Command {
	bid := s.kept.Bids[len(s.kept.Bids)-1].Price
	return func(ctx context.Context, h *codons.Handler) codons.Command {
		won, err := performatives.PayloadAs[Purchase](h.Message())
		if err == nil && won.Price != bid {
			err = invalid("price", fmt.Sprintf("the bid of %d, got %d", bid, won.Price))
		}
		if err != nil {
			return h.Fail(err)
		}
		result, err := bidder.SettlePurchase(ctx, Bought{Purchase: won, Message: h.Message(), Agent: h.Agent()})
		if err != nil {
			return h.Fail(err)
		}
		return h.Answer(standard.CommandFinish, performatives.ActInformResult, result)
	}
}

// Reduce keeps the beginning and the end of the auction, and the bids.
func (s *responderSide) Reduce(v *codons.Value, e *codons.Input) {
	if s.kept.Began.IsZero() && e.Message != nil {
		s.kept.Began, s.kept.Until = e.At, endsByOf(e.Message)
	}
	if bid, ok := e.Data.(PriceBid); ok && v.State() == stateProposed {
		s.kept.Bids = append(s.kept.Bids, bid)
	}
}

// Timer sets the end of the auction or, where a request is to be answered, the end of its time.
func (s *responderSide) Timer(v *codons.Value, name string, now time.Time) time.Duration {
	switch v.State() { //nolint:exhaustive // the others last until the end of the auction
	case standard.StateConsidering, stateRecalled, statePurchasing, standard.StateCancelling:
		return s.ResponderSide.Timer(v, name, now)
	}
	if s.kept.Until.IsZero() {
		return s.kept.Began.Add(s.Times().Deadline).Sub(now)
	}
	return s.kept.Until.Sub(now)
}

// Tag returns the tag of a message, as the codon has it.
func (s *responderSide) Tag(_ *codons.Value, m *performatives.Message) string { return tag(m) }
