package auction

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// dutchCommands are the contents of the commands of [DutchTable].
func dutchCommands() map[string]any {
	return map[string]any{
		commandCall: calledPrice{}, commandAccept: PriceBid{}, commandReject: nil,
		commandSell: End{}, commandOver: End{}, commandSettle: Purchase{},
		commandPropose: PriceBid{}, commandPass: performatives.Refuse{},
		standard.CommandFinish: performatives.InformResult{}, standard.CommandStopped: nil, standard.CommandUnstopped: nil,
	}
}

// englishCommands are the contents of the commands of [EnglishTable].
func englishCommands() map[string]any {
	all := dutchCommands()
	all[commandOutbid], all[commandRestore] = nil, nil
	return all
}

func initiating() codons.Side { return &initiatorSide{} }

func responding(r *codons.ResponderSide) codons.Side { return &responderSide{ResponderSide: r} }

// initiatorData is the data of the auctioneer's side.
type initiatorData struct {
	Asked   any         `json:"asked"`
	Lot     Lot         `json:"lot"`
	Latest  calledPrice `json:"latest"`
	End     End         `json:"end"`
	Invalid string      `json:"invalid,omitempty"`
}

// Data returns the data that Reduce keeps.
func (s *initiatorSide) Data() any {
	d := initiatorData{Asked: s.InitiatorSide.Data(), Lot: s.lot, Latest: s.latest, End: s.end}
	if s.invalid != nil {
		d.Invalid = s.invalid.Error()
	}
	return d
}

// responderData is the data of the bidder's side.
type responderData struct {
	Began time.Time  `json:"began"`
	Until time.Time  `json:"until"`
	Bids  []PriceBid `json:"bids"`
}

// Data returns the data that Reduce keeps.
func (s *responderSide) Data() any { return responderData{s.began, s.until, s.bids} }
