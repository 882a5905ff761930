package codons

import (
	"context"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// AuctionBidder is an agent that bids in auctions: the answering side of
// [EnglishAuctionTable] and [DutchAuctionTable]. Both methods run on goroutines of
// the conversation, beside others, so they must not touch the agent's fields but by
// [actors.Self.Do], and should return soon once ctx ends. An auction takes up one of
// the agent's places ([Limited]) from the first price to the end.
type AuctionBidder interface {
	actors.Agent
	// ConsiderPrice says whether the agent takes the lot at that price. True binds it
	// until another price is called, or the auction is over. False passes: it is told
	// as REFUSE with the code rejected, and the agent hears the next price
	// nevertheless, unless the auction ends here. Who has not decided when the round
	// is over (ctx's deadline) is out. A [*performatives.Refusal] of any other code is
	// told as REFUSE, NOT_UNDERSTOOD or FAILURE, whichever the code calls for, and
	// leaves the auction; any other error, or a panic, as FAILURE without its text.
	ConsiderPrice(ctx context.Context, o Offered) (bool, error)

	// SettlePurchase carries out the transaction that the agent has won, and returns
	// its result. ctx ends on CANCEL, when the auction has to be over, or when the
	// agent stops. Errors are told as those of [Worker].PerformTask are.
	SettlePurchase(ctx context.Context, w Bought) (performatives.InformResult, error)
}

// Offered is a lot at a price that an agent may take.
type Offered struct {
	Offer
	Message *performatives.Message // the CFP: who sells, in which protocol, until when the price stands
	Agent   actors.Self            // the handle of the agent that is asked
	Bids    []PriceBid             // what the agent has bid in earlier rounds
}

// Falling reports whether the price falls: it is a Dutch auction.
func (o Offered) Falling() bool { return o.Message.Protocol() == dutchAuction.Name() }

// Bought is a lot that an agent has won.
type Bought struct {
	Purchase
	Message *performatives.Message // the REQUEST: until when the transaction is due
	Agent   actors.Self
}

// EnglishAuctions is the protocol that makes every [AuctionBidder] answer in English
// auctions.
type EnglishAuctions Times

// Name returns "english-auction".
func (EnglishAuctions) Name() string { return englishAuction.Name() }

// Opens reports whether m, which has to name the protocol, is the first that may be
// heard of an English auction: a price too, where its beginning was lost.
func (EnglishAuctions) Opens(m *performatives.Message) bool { return opensAuction(m, englishAuction) }

// Bind returns the responder of an [AuctionBidder].
func (n EnglishAuctions) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return newSeat(self, agent, englishAuction, Times(n))
}

// DutchAuctions is the protocol that makes every [AuctionBidder] answer in Dutch
// auctions.
type DutchAuctions Times

// Name returns "dutch-auction".
func (DutchAuctions) Name() string { return dutchAuction.Name() }

// Opens reports whether m, which has to name the protocol, is the first that may be
// heard of a Dutch auction: a price too, where its beginning was lost.
func (DutchAuctions) Opens(m *performatives.Message) bool { return opensAuction(m, dutchAuction) }

// Bind returns the responder of an [AuctionBidder].
func (n DutchAuctions) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return newSeat(self, agent, dutchAuction, Times(n))
}

// opensAuction reports whether m is the first that a bidder may hear of an auction. A
// receipt is none: it answers the CANCEL of an auctioneer that has forgotten, as by a
// restart, what it has sold.
func opensAuction(m *performatives.Message, of *machine.Machine) bool {
	if _, receipt := m.Payload().(performatives.Receipt); receipt {
		return false
	}
	return opens(m, of, false) || m.Protocol() == of.Name() && slices.Contains(auctionActs, m.Performative())
}

// seat is where one agent's bids in one kind of auction are made.
type seat struct {
	places
	times   Times
	self    actors.Self
	machine *machine.Machine
	bidder  AuctionBidder
}

func newSeat(self actors.Self, agent actors.Agent, m *machine.Machine, t Times) actors.Responding {
	b, ok := agent.(AuctionBidder)
	if !ok {
		return nil
	}
	return &seat{places: places{limit: limitOf(agent)}, times: t.withDefaults(), self: self, machine: m, bidder: b}
}

// Open begins the conversation of an auction.
func (b *seat) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(b.self, b.machine, m, &priceScript{seat: b, until: b.until(m)})
}
