package auction

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// EnglishCodon is the English auction, with its documentation.
var EnglishCodon = codons.MustDefine(codons.Definition{
	Table:         EnglishTable(),
	Complete:      true,
	Coordination:  rules(risingRules()),
	Commands:      map[string]any{commandCall: calledPrice{}},
	InitiatorSide: initiating,
	ResponderSide: responding,
	Example:       "ExampleEnglish",
	Tag:           tag,
	Payloads:      payloads,
})

// DutchCodon is the Dutch auction, with its documentation.
var DutchCodon = codons.MustDefine(codons.Definition{
	Table:         DutchTable(),
	Complete:      true,
	Coordination:  rules(fallingRules()),
	Commands:      map[string]any{commandCall: calledPrice{}},
	InitiatorSide: initiating,
	ResponderSide: responding,
	Example:       "ExampleDutch",
	Tag:           tag,
	Payloads:      payloads,
})

// EnglishService has every [Bidder] take part in English auctions.
var EnglishService = role(EnglishCodon)

// DutchService has every [Bidder] take part in Dutch auctions.
var DutchService = role(DutchCodon)

func role(c *codons.Codon) *codons.Service {
	o := codons.ServiceOptions{Opens: func(m *performatives.Message) bool { return opens(m, c) }}
	return codons.NewService(c, o, func(self actors.Self, bidder Bidder, t codons.Times) actors.Responder {
		return newResponder(self, bidder, c, t)
	})
}

// opens reports whether m opens an auction on the bidder's side: its announcement or, when
// that was lost, its first price or its CANCEL. A receipt is also an INFORM, but answers
// the CANCEL of an auctioneer that has lost its conversations by a restart.
func opens(m *performatives.Message, c *codons.Codon) bool {
	if _, receipt := m.Payload().(performatives.Receipt); receipt {
		return false
	}
	return c.OpenedBy(m, false) || m.Protocol() == c.Name() && m.Performative() == performatives.ActCFP
}

// payloads are the contents of the acts of both auctions.
var payloads = []codons.Payload{
	{Act: performatives.ActInform, Type: Lot{}, Doc: "of the auctioneer, first: the lot, its prices, and the time by which the auction has to be over"},
	{Act: performatives.ActInform, Type: End{}, Commands: []string{commandSell, commandOver}, Doc: "of the auctioneer, last: the auction is over, and whether it was won"},
	{Act: performatives.ActCFP, Type: Offer{}, Doc: "the lot at a price; the message's ReplyBy is the time by which it may be taken"},
	{Act: performatives.ActPropose, Type: PriceBid{}, Commands: []string{commandPropose}, Doc: "takes the price"},
	{Act: performatives.ActAcceptProposal, Type: PriceBid{}, Commands: []string{commandAccept}, Doc: "the bid leads"},
	{Act: performatives.ActRejectProposal, Type: performatives.RejectProposal{}, Doc: "why a bid does not lead: `rejected` where another was first, `deadline_expired` where it came too late"},
	{Act: performatives.ActRefuse, Type: performatives.Refuse{}, Commands: []string{commandPass}, Doc: "with `rejected` the price is not taken; with any other code the bidder leaves the auction"},
	{Act: performatives.ActRequest, Type: Purchase{}, Commands: []string{commandSettle}, Doc: "the transaction, to the winner"},
	{Act: performatives.ActInformResult, Type: performatives.InformResult{}, Commands: []string{standard.CommandFinish}, Doc: "the result of the transaction"},
}

// tag returns what the tables must know of a message's content: whether an INFORM ends the
// auction, whether a REFUSE is only about this price, and whether a bid is unreadable.
func tag(m *performatives.Message) string {
	switch m.Performative() { //nolint:exhaustive // the tables have tagged rows for these three
	case performatives.ActInform:
		end, err := performatives.PayloadAs[End](m)
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
