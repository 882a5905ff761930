package codons

import (
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Lot is what is sold in an auction, and how: the content of the INFORM that begins
// it. Prices are whole numbers of the smallest unit of whatever they are paid in.
type Lot struct {
	Item    string                `json:"item"`
	Details performatives.Content `json:"details,omitzero"`
	Start   int64                 `json:"start"`   // the first price that is called
	Step    int64                 `json:"step"`    // by how much the price rises, or falls in a Dutch auction; at least 1
	Reserve int64                 `json:"reserve"` // it is not sold for less; zero means for any price
	// EndsBy is until when the auction has to be over, the transaction included. Who
	// sells may leave it zero: then it is the deadline of ctx, or [DefaultDeadline].
	EndsBy time.Time `json:"ends_by,omitzero"`
	// RoundTime is how long bidders have at each price; who is silent for longer is
	// out. Zero means [DefaultRoundTime]. It does not travel: each CFP has a ReplyBy.
	RoundTime time.Duration `json:"-"`
}

// DefaultRoundTime is how long bidders have at each price, unless [Lot].RoundTime
// says otherwise. A round is over sooner when all have answered.
const DefaultRoundTime = 5 * time.Second

// Act returns [performatives.ActInform].
func (Lot) Act() performatives.Performative { return performatives.ActInform }

// Validate checks that there is something to sell at prices that make sense.
func (l Lot) Validate() error {
	switch {
	case l.Item == "":
		return unsound("item", "the name of what is sold, got nothing")
	case l.Start < 0:
		return unsound("start", fmt.Sprintf("a price of at least 0, got %d", l.Start))
	case l.Step < 1:
		return unsound("step", fmt.Sprintf("at least 1, got %d", l.Step))
	case l.Reserve < 0:
		return unsound("reserve", fmt.Sprintf("a price of at least 0, got %d", l.Reserve))
	}
	return nil
}

func unsound(field, want string) error {
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want " + want}
}

// Offer is the content of the CFP of an auction: the lot at a price.
type Offer struct {
	Lot   Lot   `json:"lot"`
	Price int64 `json:"price"`
	Round int   `json:"round"` // the prices that were called, counted from 1
}

// Act returns [performatives.ActCFP].
func (Offer) Act() performatives.Performative { return performatives.ActCFP }

// Validate checks the lot and the price.
func (o Offer) Validate() error {
	if o.Price < 0 {
		return unsound("price", fmt.Sprintf("at least 0, got %d", o.Price))
	}
	return o.Lot.Validate()
}

// PriceBid is the content of PROPOSE in an auction, and of the ACCEPT_PROPOSAL that
// answers it: the price that was called, in that round.
type PriceBid struct {
	Price int64 `json:"price"`
	Round int   `json:"round,omitempty"`
}

// Purchase is the content of the REQUEST to the winner of an auction.
type Purchase struct {
	Lot   Lot   `json:"lot"`
	Price int64 `json:"price"` // the winner's own bid
}

// Act returns [performatives.ActRequest].
func (Purchase) Act() performatives.Performative { return performatives.ActRequest }

// Validate checks the lot.
func (p Purchase) Validate() error { return p.Lot.Validate() }

// AuctionEnd is the content of the INFORM that an auction is over.
type AuctionEnd struct {
	Item  string `json:"item"`
	Over  bool   `json:"auction_over"`    // always true: it tells the end from the beginning
	Sold  bool   `json:"sold"`            // somebody has bid enough; false to one who is out before the end
	Price int64  `json:"price,omitempty"` // for how much
	Won   bool   `json:"won,omitempty"`   // by whom this is sent to
}

// Act returns [performatives.ActInform].
func (AuctionEnd) Act() performatives.Performative { return performatives.ActInform }

// Sale is what came of an auction.
type Sale struct {
	Winner performatives.AgentID // empty when nothing was sold
	// Price is what the winner pays; without a winner it is the highest bid, which did
	// not reach the reserve, or zero.
	Price  int64
	Result performatives.InformResult // of the transaction
	Rounds int                        // how many prices were called
	Absent []Absence                  // who was not there to the end, in the order of the bidders
}

// Absence is a bidder that did not stay to the end of an auction.
type Absence struct {
	Bidder performatives.AgentID
	// Err is an [*EndError] whose State says how it left: refused, not_understood,
	// failed, timed_out (silent), cancelled.
	Err error
}

// ErrNoSale says that nobody has bid, or not as much as the reserve. It comes joined
// with why bidders were absent.
var ErrNoSale = errors.New("codons: nothing was sold")

// auctionTag is what the tables of the auctions must know of a message's content.
func auctionTag(m *performatives.Message) string {
	switch m.Performative() { //nolint:exhaustive // the tables ask of these three
	case performatives.ActInform:
		end, err := performatives.PayloadAs[AuctionEnd](m)
		switch {
		case err != nil || !end.Over:
			return ""
		case end.Won:
			return tagWon
		}
		return tagClosed
	case performatives.ActRefuse:
		if m.AsRefusal().Code == performatives.CodeRejected {
			return tagPass
		}
	case performatives.ActPropose:
		if _, err := performatives.PayloadAs[PriceBid](m); err != nil {
			return tagUnreadable
		}
	}
	return ""
}
