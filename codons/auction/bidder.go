package auction

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
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
