package codons

import "github.com/ribosome-agents/ribosome/performatives"

// englishAuctionCodon is [EnglishAuctionTable] with what its documentation adds.
func englishAuctionCodon() Codon {
	return Codon{
		Table:        EnglishAuctionTable(),
		Coordination: EnglishAuctionCoordination(),
		Example:      "ExampleEnglishAuction",
		Tag:          auctionTag,
		Payloads:     auctionPayloads(),
	}
}

// dutchAuctionCodon is [DutchAuctionTable] with what its documentation adds.
func dutchAuctionCodon() Codon {
	return Codon{
		Table:        DutchAuctionTable(),
		Coordination: DutchAuctionCoordination(),
		Example:      "ExampleDutchAuction",
		Tag:          auctionTag,
		Payloads:     auctionPayloads(),
	}
}

func auctionPayloads() []Payload {
	return []Payload{
		{performatives.ActInform, Lot{}, "of the auctioneer, first: what is sold, between which prices, until when"},
		{performatives.ActInform, AuctionEnd{}, "of the auctioneer, last: the auction is over, and whether it was won"},
		{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		{performatives.ActCFP, Offer{}, "the lot at a price; the message's ReplyBy is until when it may be taken"},
		{performatives.ActPropose, PriceBid{}, "takes the price"},
		{performatives.ActAcceptProposal, PriceBid{}, "the bid leads"},
		{performatives.ActRejectProposal, performatives.RejectProposal{}, "why a bid does not lead: `rejected` where another was first, `deadline_expired` where it came too late"},
		{performatives.ActRefuse, performatives.Refuse{}, "with `rejected` the price is not taken; with any other code the bidder leaves the auction"},
		{performatives.ActRequest, Purchase{}, "the transaction, to the winner"},
		{performatives.ActInformResult, performatives.InformResult{}, "what the winner has done"},
	}
}
