package auction

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons"
)

func initiating() codons.Side { return &initiatorSide{} }

func responding(r *codons.ResponderSide) codons.Side { return &responderSide{ResponderSide: r} }

// initiatorData is the data of the auctioneer's side.
type initiatorData struct {
	Asked   any         `json:"asked"`
	Lot     Lot         `json:"lot"`
	Latest  calledPrice `json:"latest"`
	End     End         `json:"end"` // the content of the INFORM to the winner; zero for other bidders
	Invalid string      `json:"invalid,omitempty"`
}

// Data returns the data that Reduce keeps.
func (s *initiatorSide) Data() any {
	d := s.kept
	d.Asked = s.InitiatorSide.Data()
	if s.invalid != nil {
		d.Invalid = s.invalid.Error()
	}
	return d
}

// responderData is the data of the bidder's side.
type responderData struct {
	Began time.Time  `json:"began"` // the time of the first message
	Until time.Time  `json:"until"` // the time by which the auction has to be over; zero when the first message does not say
	Bids  []PriceBid `json:"bids"`  // of all rounds
}

// Data returns the data that Reduce keeps.
func (s *responderSide) Data() any { return s.kept }
