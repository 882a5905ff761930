package auction

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Lot is an item for sale, and the terms of its auction: the content of the INFORM that
// begins it. Prices are whole numbers of the smallest unit of a currency that the
// auctioneer and the bidders agree on.
type Lot struct {
	Item    string                `json:"item"`
	Details performatives.Content `json:"details,omitzero"`
	Start   int64                 `json:"start"`   // the first price
	Step    int64                 `json:"step"`    // by how much the price rises, or falls in a Dutch auction; at least 1
	Reserve int64                 `json:"reserve"` // the lowest price of a sale; zero means any price
	// EndsBy is the time by which the auction has to be over, its transaction included. The
	// auctioneer may leave it zero: then it is the deadline of ctx, or
	// [codons.DefaultDeadline] from now.
	EndsBy time.Time `json:"ends_by,omitzero"`
	// RoundTime is the time for an answer at each price; a bidder that has not answered by
	// then has made no bid. Zero or less means [DefaultRoundTime]. It is not sent: the ReplyBy of
	// each CFP follows from it.
	RoundTime time.Duration `json:"-"`
}

// DefaultRoundTime is the time for an answer at each price when [Lot].RoundTime is zero. A
// round is over sooner when all bidders have answered.
const DefaultRoundTime = 5 * time.Second

// Act returns [performatives.ActInform].
func (Lot) Act() performatives.Performative { return performatives.ActInform }

// Validate checks the item and the prices. The error is a [*performatives.Refusal] with
// the code invalid_payload.
func (l Lot) Validate() error {
	switch {
	case l.Item == "":
		return invalid("item", "a name, got an empty text")
	case l.Start < 0:
		return invalid("start", fmt.Sprintf("a price of at least 0, got %d", l.Start))
	case l.Step < 1:
		return invalid("step", fmt.Sprintf("at least 1, got %d", l.Step))
	case l.Reserve < 0:
		return invalid("reserve", fmt.Sprintf("a price of at least 0, got %d", l.Reserve))
	}
	return nil
}

func invalid(field, want string) error {
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want " + want}
}

// Offer is the content of a CFP: the lot at a price.
type Offer struct {
	Lot   Lot   `json:"lot"`
	Price int64 `json:"price"`
	Round int   `json:"round"` // from 1; each price is one round
}

// Act returns [performatives.ActCFP].
func (Offer) Act() performatives.Performative { return performatives.ActCFP }

// Validate checks the lot and the price.
func (o Offer) Validate() error {
	if o.Price < 0 {
		return invalid("price", fmt.Sprintf("at least 0, got %d", o.Price))
	}
	return o.Lot.Validate()
}

// PriceBid is the content of a PROPOSE, and of the ACCEPT_PROPOSAL that answers it.
type PriceBid struct {
	Price int64 `json:"price"`           // the called price
	Round int   `json:"round,omitempty"` // the round of the call; zero from a bidder that does not say
}

// Purchase is the content of the REQUEST to the winner.
type Purchase struct {
	Lot   Lot   `json:"lot"`
	Price int64 `json:"price"` // the winner's own bid
}

// Act returns [performatives.ActRequest].
func (Purchase) Act() performatives.Performative { return performatives.ActRequest }

// Validate checks the lot.
func (p Purchase) Validate() error { return p.Lot.Validate() }

// End is the content of the INFORM that ends an auction.
type End struct {
	Item  string `json:"item"`
	Over  bool   `json:"auction_over"`    // always true: it tells the INFORM from that of the Lot
	Sold  bool   `json:"sold"`            // a bid reached the reserve; false for a bidder that is out before the end
	Price int64  `json:"price,omitempty"` // of the sale
	Won   bool   `json:"won,omitempty"`   // the receiver is the winner
}

// Act returns [performatives.ActInform].
func (End) Act() performatives.Performative { return performatives.ActInform }
