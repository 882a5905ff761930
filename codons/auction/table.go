package auction

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of an auction that the standard rows do not have.
const (
	stateAnnounced  machine.State = "announced"  // bidder: the auction has begun, and there is no price yet
	stateCalled     machine.State = "called"     // auctioneer: the price was called, and there is no answer yet
	stateProposed   machine.State = "proposed"   // both: there is a bid without an answer
	stateWaiting    machine.State = "waiting"    // both: this bidder has no open bid, and waits for the next price
	statePassed     machine.State = "passed"     // bidder: it has not taken the latest price
	stateMissed     machine.State = "missed"     // bidder: the round is over without its answer, and its handler has not returned
	stateRecalled   machine.State = "recalled"   // bidder: a further price was called before the handler of an earlier one has returned
	stateSilent     machine.State = "silent"     // bidder: it gave no answer to the latest price, and no handler runs
	stateLeading    machine.State = "leading"    // both: the bid was accepted, and there is no higher one
	stateOutbid     machine.State = "outbid"     // auctioneer: another bid is higher; this one leads again when that bidder is lost
	stateWon        machine.State = "won"        // auctioneer: the bidder was told that it has won
	stateSold       machine.State = "sold"       // auctioneer: the transaction is requested, and there is no result yet
	statePurchasing machine.State = "purchasing" // bidder: the transaction is under way

	stateOver   machine.State = "over"   // both: the auction is over for this bidder, without a win
	stateAbsent machine.State = "absent" // bidder: it left before the first price
)

// Commands of an auction that the standard rows do not have.
const (
	commandCall    = "call"    // auctioneer: call a price
	commandAccept  = "accept"  // auctioneer: accept the bid
	commandReject  = "reject"  // auctioneer: reject the bid, as another was first
	commandOutbid  = "outbid"  // auctioneer: another bid is higher
	commandRestore = "restore" // auctioneer: the bid leads again
	commandSell    = "sell"    // auctioneer: the bidder has won
	commandSettle  = "settle"  // auctioneer: request the transaction
	commandOver    = "over"    // auctioneer: the auction is over for this bidder
	commandPropose = "propose" // bidder: take the price
	commandPass    = "pass"    // bidder: do not take this price
)

// jobSettle is the transaction of a bidder that has won.
const jobSettle = "settle"

// Tags of the messages of an auction.
const (
	tagClosed     = "closed"     // an INFORM to a bidder that has not won: the auction is over
	tagWon        = "won"        // an INFORM to the winner: the auction is over
	tagPass       = "pass"       // a REFUSE of this price only
	tagUnreadable = "unreadable" // a PROPOSE that is not a bid at the called price
)

// EnglishTable returns the table of an auctioneer and one bidder while the price rises
// (addenda §6). [EnglishCoordination] has the rules of an auctioneer and many bidders.
func EnglishTable() machine.Table {
	return protocol{
		name: "english-auction", title: "English auction",
		purpose: "One agent sells to the highest bidder. It calls a price, and raises it as long as a bidder other than " +
			"the leader takes it. The last leader has won, if the reserve is reached, and is requested to carry out the transaction.",
		source: "addenda §6; FIPA English Auction Interaction Protocol (XC00031F)",
		rising: true,
	}.table()
}

// DutchTable is [EnglishTable] while the price falls, until a bidder takes it. The
// transaction, which FIPA leaves open, is requested as in an English auction.
func DutchTable() machine.Table {
	return protocol{
		name: "dutch-auction", title: "Dutch auction",
		purpose: "One agent sells to the first bidder. It calls a price, and lowers it down to the reserve until a bidder takes it. " +
			"That bidder has won, and is requested to carry out the transaction.",
		source: "addenda §6; FIPA Dutch Auction Interaction Protocol (XC00032F)",
	}.table()
}

// protocol is one of the two auctions.
type protocol struct {
	name, title, purpose, source string

	rising bool // an accepted bid may be outbid
}

// selling are the live states of the auctioneer, without cancelling.
func (x protocol) selling() []machine.State {
	all := []machine.State{stateWaiting, stateCalled, stateProposed, stateLeading, stateWon, stateSold}
	if x.rising {
		all = append(all, stateOutbid)
	}
	return all
}

// betweenPrices are the live states of the bidder in which no handler runs, after the first
// price.
func betweenPrices() []machine.State {
	return []machine.State{stateWaiting, statePassed, stateSilent, stateProposed, stateLeading}
}

func (x protocol) table() machine.Table {
	return standard.All.MustComplete(machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Terminal: []machine.State{standard.StateCompleted, stateOver, stateAbsent},
		Jobs: []machine.Job{
			{
				Role: machine.Responder, Name: standard.JobConsider, Ends: []string{commandPropose, commandPass},
				Doc: "the agent decides whether it takes the price",
			},
			{
				Role: machine.Responder, Name: jobSettle, Ends: []string{standard.CommandFinish, standard.CommandFail},
				Doc: "the agent carries out the transaction that it has won",
			},
			standard.ChildrenJob(),
		},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: machine.TimerDeadline, Doc: "in called until the round is over, else until the auction has to be over"},
			{Role: machine.Initiator, Name: machine.TimerRetry, Doc: "until a CFP, REQUEST or CANCEL without its answer is sent again"},
			{Role: machine.Responder, Name: machine.TimerDeadline, Doc: "in considering and recalled until the round is over, else until the auction has to be over"},
		},
		Rows: slices.Concat(x.auctioneerCalls(), x.auctioneerHearsLate(), x.auctioneerDecides(), x.auctioneerAwaitsResult(), auctioneerEnded(),
			bidderAttends(), bidderConsiders(), bidderOverruns(), bidderBetweenPrices(), standard.SettlesIn(performatives.ActCFP, betweenPrices()...), bidderSettles(), bidderEnded()),
		Agree:        x.pairs(),
		Declarations: x.declarations(),
	})
}

// noteLate is the note of the pairs of an auctioneer that ends by its clock.
const noteLate = "the time of the auction was over for the auctioneer"

// pairs are the ends of an auctioneer and one bidder besides those of the standard rows. An
// auctioneer that was abandoned cannot have told the bidder that the auction is over.
func (x protocol) pairs() []machine.Pair {
	rough := func(initiator, responder machine.State, note string, after ...machine.Cause) machine.Pair {
		return machine.Pair{Initiator: initiator, Responder: responder, After: after, Note: note}
	}
	var (
		bidderLate = machine.At(machine.Responder, machine.Timeout(machine.TimerDeadline))
		bidderGone = machine.At(machine.Responder, machine.Commanded(standard.CommandStop))
		gone       = machine.At(machine.Initiator, machine.Commanded(standard.CommandStop))
		late       = machine.At(machine.Initiator, machine.Timeout(machine.TimerDeadline))
		grace      = machine.At(machine.Initiator, machine.Timeout(machine.TimerGrace))
	)
	forgotten := machine.Forgotten(machine.Responder)
	unheard := func(act performatives.Performative) machine.Cause {
		return machine.At(machine.Initiator, machine.Undelivered(act))
	}
	all := []machine.Pair{
		rough(stateOver, machine.Idle, standard.NoteUnknown, machine.Lost()),
		rough(stateOver, standard.StateTimedOut, "the end of the auction was lost, or arrived too late", bidderLate),
		rough(stateOver, stateAbsent, "the bidder left before the end arrived", bidderLate, bidderGone),
		rough(standard.StateFailed, stateAbsent, "the bidder left before the first price", bidderLate, bidderGone),
		rough(standard.StateAbandoned, machine.Idle, standard.NoteUnknown, machine.Lost()),
		rough(standard.StateTimedOut, machine.Idle, standard.NoteUnknown, machine.Lost()),
	}
	const fails = "the bidder failed or stopped before the end arrived"
	if x.rising {
		all = append(all, rough(stateOver, standard.StateFailed, fails, bidderGone, late))
	} else { // its handler may fail when another bidder has won
		all = append(all, machine.Pair{Initiator: stateOver, Responder: standard.StateFailed, Note: fails})
	}
	for _, end := range []machine.State{standard.StateRefused, standard.StateNotUnderstood} {
		left := machine.Pair{Initiator: stateOver, Responder: end, Note: "the bidder left before the end arrived"}
		if x.rising { // a bidder without an answer in time is told of the end
			left.After = []machine.Cause{late}
		}
		all = append(all, left, rough(standard.StateFailed, end, "the bidder left, and no copy of the next price arrived, or it refuses that", late, unheard(performatives.ActCancel), forgotten))
	}
	all = append(all,
		rough(standard.StateFailed, machine.Idle, "", unheard(performatives.ActCancel)),
		rough(standard.StateFailed, standard.StateCompleted, "", unheard(performatives.ActCancel), forgotten),
		rough(standard.StateRefused, standard.StateNotUnderstood, "", unheard(performatives.ActCFP)))
	for _, end := range []machine.State{
		standard.StateCompleted, standard.StateRefused, standard.StateNotUnderstood, standard.StateFailed,
		standard.StateCancelled, standard.StateTimedOut, stateAbsent,
	} {
		all = append(all, rough(standard.StateAbandoned, end, "", gone), rough(standard.StateTimedOut, end, noteLate, late, grace))
	}
	return all
}
