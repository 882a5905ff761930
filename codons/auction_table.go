package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of an auction that other codons do not have.
const (
	stateAnnounced machine.State = "announced" // bidder: the auction has begun, no price was called yet
	stateWaiting   machine.State = "waiting"   // no bid of this bidder is open: another leads, or the next price is awaited
	statePassed    machine.State = "passed"    // bidder: it has not taken the latest price
	stateLeading   machine.State = "leading"   // the bid was accepted, and nobody has bid more
	stateOutbid    machine.State = "outbid"    // auctioneer: another has bid more; its bid counts again should that one be lost
	stateWon       machine.State = "won"       // auctioneer: the bidder was told that it has won
	stateSold      machine.State = "sold"      // auctioneer: the transaction is requested, no result yet
	stateSettling  machine.State = "settling"  // bidder: the transaction is under way

	stateOver   machine.State = "over"   // the auction is over for this bidder, who has not won
	stateAbsent machine.State = "absent" // bidder: it left before any price was called
)

// Commands of an auction that other codons do not have.
const (
	commandCall    = "call"    // auctioneer: call a price
	commandStrike  = "strike"  // auctioneer: accept the bid
	commandSpurn   = "spurn"   // auctioneer: reject the bid, another was first
	commandOutbid  = "outbid"  // auctioneer: another has bid more
	commandRestore = "restore" // auctioneer: the bid leads again
	commandKnock   = "knock"   // auctioneer: the bidder has won
	commandSettle  = "settle"  // auctioneer: request the transaction
	commandOver    = "over"    // auctioneer: the auction is over for this bidder
	commandPass    = "pass"    // bidder: not at this price
)

// jobSettle is the transaction of a bidder that has won.
const jobSettle = "settle"

// Tags of an auction's messages.
const (
	tagClosed = "closed" // an INFORM that the auction is over, to one who has not won
	tagWon    = "won"    // an INFORM that the auction is over, to the winner
	tagPass   = "pass"   // a REFUSE of this price only
)

// EnglishAuctionTable returns the codon of an auctioneer and one bidder while the
// price rises (addenda §6). What an auctioneer does with many is
// [EnglishAuctionCoordination].
func EnglishAuctionTable() machine.Table {
	return auction{
		name: "english-auction", title: "English auction",
		purpose: "One agent sells to whoever bids most. It calls a price, and raises it as long as somebody other than " +
			"the leader takes it; the last leader has won, if the reserve is reached, and is requested to carry out the transaction.",
		source: "addenda §6; FIPA English Auction Interaction Protocol (XC00031F)",
		rising: true,
	}.table()
}

// DutchAuctionTable is [EnglishAuctionTable] while the price falls, until somebody
// takes it. The transaction, which FIPA leaves open, is requested as in an English
// auction.
func DutchAuctionTable() machine.Table {
	return auction{
		name: "dutch-auction", title: "Dutch auction",
		purpose: "One agent sells to whoever bids first. It calls a price, and lowers it down to the reserve until somebody takes it; " +
			"that one has won, and is requested to carry out the transaction.",
		source: "addenda §6; FIPA Dutch Auction Interaction Protocol (XC00032F)",
	}.table()
}

// auction is what the tables of the two auctions are made of.
type auction struct {
	name, title, purpose, source string

	rising bool // whose bid was accepted may be outbid
}

// selling are the live states of the initiator, without cancelling.
func (x auction) selling() []machine.State {
	all := []machine.State{stateWaiting, stateCalled, stateProposed, stateLeading, stateWon, stateSold}
	if x.rising {
		all = append(all, stateOutbid)
	}
	return all
}

// resting are the live states of the responder in which no handler runs, and some
// price was called.
func resting() []machine.State {
	return []machine.State{stateWaiting, statePassed, stateProposed, stateLeading}
}

// saleEnds are the terminal states of the initiator.
func saleEnds() []machine.State {
	return []machine.State{
		stateCompleted, stateOver, stateRefused, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut, stateAbandoned,
	}
}

// bidEnds are the terminal states of the responder.
func bidEnds() []machine.State {
	return []machine.State{
		stateCompleted, stateOver, stateRefused, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut, stateAbsent,
	}
}

func (x auction) table() machine.Table {
	return machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Live:     append(x.selling(), stateAnnounced, stateConsidering, statePassed, stateSettling, stateCancelling),
		Terminal: append(saleEnds(), stateAbsent),
		Jobs: []machine.Job{
			{
				Role: machine.Responder, Name: jobConsider,
				Ends: []string{commandPropose, commandPass, commandRefuse, commandNotUnderstood, commandFail},
				Doc:  "the agent decides whether it takes the price",
			},
			{
				Role: machine.Responder, Name: jobSettle,
				Ends: []string{commandFinish, commandFail},
				Doc:  "the agent carries out the transaction that it has won",
			},
		},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: timerDeadline, Doc: "in called until the round is over, else until the auction has to be"},
			{Role: machine.Initiator, Name: timerRetry, Doc: "until a CFP, REQUEST or CANCEL without its answer is sent again"},
			{Role: machine.Initiator, Name: timerGrace, Doc: "how long to wait for the end after a CANCEL"},
			{Role: machine.Responder, Name: timerDeadline, Doc: "in considering until the round is over, else until the auction has to be"},
			{Role: machine.Responder, Name: timerGrace, Doc: "how long a cancelled handler may take to return"},
		},
		Rows: concat(x.sell(), x.rank(), x.transact(), x.withdraw(), x.saleEnded(),
			attend(), ponder(), awaitPrice(), settle(), bidCancelling(), bidEnded()),
		Agree: x.pairs(),
	}
}

// pairs is every way in which an auctioneer and one bidder may end.
func (x auction) pairs() []machine.Pair {
	var pairs []machine.Pair
	rough := func(initiator, responder machine.State, note string) {
		pairs = append(pairs, machine.Pair{Initiator: initiator, Responder: responder, Rough: true, Note: note})
	}
	for _, end := range []machine.State{stateCompleted, stateOver, stateRefused, stateNotUnderstood, stateFailed, stateCancelled} {
		pairs = append(pairs, machine.Pair{Initiator: end, Responder: end})
	}
	for _, end := range bidEnds() {
		rough(stateTimedOut, end, "the answer was lost, or came too late")
		if end != stateOver {
			rough(stateAbandoned, end, gone)
		}
	}
	for _, end := range []machine.State{stateOver, stateTimedOut, stateAbandoned} {
		rough(end, machine.Idle, unknown)
	}
	rough(stateOver, stateTimedOut, "the end of the auction was lost, or came too late")
	rough(stateOver, stateFailed, "the bidder stopped before the end came")
	rough(stateOver, stateAbsent, "the bidder left before the end came")
	rough(stateFailed, stateTimedOut, "the bidder's deadline passed first, and its FAILURE says so")
	rough(stateFailed, stateAbsent, "the bidder left before any price was called")
	return pairs
}

var (
	englishAuction = EnglishAuctionTable().MustCompile()
	dutchAuction   = DutchAuctionTable().MustCompile()
)

// auctionActs are the acts with which a bidder may first hear of an auction.
var auctionActs = []performatives.Performative{performatives.ActInform, performatives.ActCFP}
