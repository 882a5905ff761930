package auction

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// auctioneerCalls has the rows of an auctioneer until the round is over for one bidder.
func (x protocol) auctioneerCalls() []machine.Row {
	called := machine.Asks(stateCalled)
	callable := []machine.State{stateWaiting}
	if x.rising {
		callable = append(callable, stateOutbid)
	}
	return []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
			Goto(stateWaiting, machine.Send(performatives.ActInform)).
			Because("the auction begins"),
		machine.Asks(callable...).When(machine.Commanded(commandCall)).
			Goto(stateCalled, machine.Send(performatives.ActCFP), machine.Arm(machine.TimerDeadline), machine.Arm(machine.TimerRetry)).
			Because("another price"),
		called.When(machine.Receive(performatives.ActPropose)).
			Goto(stateProposed, machine.Disarm(machine.TimerRetry), machine.Arm(machine.TimerDeadline)).
			Because("a bid at the price that was called"),
		called.When(machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)).
			Goto(standard.StateFailed, machine.Send(performatives.ActRejectProposal)).
			Because("an unreadable bid, and a bid at another price, do not count, and the bidder is out"),
		called.When(machine.ReceiveTagged(performatives.ActRefuse, tagPass)).
			Goto(stateWaiting, machine.Disarm(machine.TimerRetry), machine.Arm(machine.TimerDeadline)).
			Because("no bid at this price; the bidder hears the next one"),
		called.When(machine.Timeout(machine.TimerDeadline)).
			Goto(stateWaiting, machine.Disarm(machine.TimerRetry), machine.Arm(machine.TimerDeadline)).
			Because("the round is over: silence is no bid, and the bidder hears the next price (XC00031F, XC00032F)"),
	}
}

// auctioneerHearsLate has the rows of answers that arrive after their round.
func (x protocol) auctioneerHearsLate() []machine.Row {
	selling, waiting := machine.Asks(x.selling()...), machine.Asks(stateWaiting)
	return []machine.Row{
		selling.When(machine.Stale(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeExpired)).
			Because("a bid for an earlier price is rejected, so that it does not bind the bidder"),
		selling.When(machine.StaleTagged(performatives.ActRefuse, tagPass)).
			Stay(machine.Drop(machine.DropStale)).
			Because("it answers an earlier price; a bidder that has left at an earlier price has left at this one, too"),
		waiting.When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeExpired)).
			Because("the round of this bid is over"),
		waiting.When(machine.ReceiveTagged(performatives.ActRefuse, tagPass)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the round is over, and silence was no bid"),
		waiting.When(machine.Receive(performatives.ActRefuse)).
			Goto(standard.StateRefused).
			Because("the bidder has left, after the round was over"),
		waiting.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(standard.StateNotUnderstood).
			Because("the bidder has left, after the round was over"),
	}
}

// auctioneerDecides has the rows of an auctioneer between two rounds.
func (x protocol) auctioneerDecides() []machine.Row {
	closable := []machine.State{stateWaiting, stateLeading}
	if !x.rising { // the first bid ends the bidding at once, whatever the others have answered
		closable = append(closable, stateCalled, stateProposed)
	}
	rows := []machine.Row{
		machine.Asks(stateProposed).When(machine.Commanded(commandAccept)).
			Goto(stateLeading, machine.Send(performatives.ActAcceptProposal), machine.Disarm(machine.TimerRetry)).
			Because("the first bid at this price; no answer is awaited, so it is not sent again"),
		machine.Asks(stateProposed).When(machine.Commanded(commandReject)).
			Goto(stateWaiting, machine.Send(performatives.ActRejectProposal)).
			Because("another bidder was first"),
		machine.Asks(stateLeading).When(machine.Commanded(commandSell)).
			Goto(stateWon, machine.SendTagged(performatives.ActInform, tagWon)).
			Because("no bid is higher, and no other bidder is left in the auction"),
		machine.Asks(stateWon).When(machine.Commanded(commandSettle)).
			Goto(stateSold, machine.Send(performatives.ActRequest), machine.Arm(machine.TimerDeadline), machine.Arm(machine.TimerRetry)).
			Because("the winner is requested to carry out the transaction"),
	}
	if x.rising {
		closable = append(closable, stateOutbid)
		rows = append(rows,
			machine.Asks(stateLeading).When(machine.Commanded(commandOutbid)).
				Goto(stateOutbid).
				Because("another bidder takes a higher price"),
			machine.Asks(stateOutbid).When(machine.Commanded(commandRestore)).
				Goto(stateLeading).
				Because("the bidder that took a higher price is lost"))
	}
	told := []machine.State{stateLeading, stateWon, stateSold}
	if x.rising {
		told = append(told, stateOutbid)
	}
	return append(rows,
		machine.Asks(told...).When(machine.Undelivered(performatives.ActAcceptProposal)).
			Stay(machine.Drop(machine.DropUndeliverable)).
			Because("no answer to it is awaited, and the REQUEST of the transaction or the next price says the same"),
		machine.Asks(closable...).When(machine.Commanded(commandOver)).
			Goto(stateOver, machine.SendTagged(performatives.ActInform, tagClosed)).
			Because("the auction is over"))
}

// auctioneerAwaitsResult has the row of the transaction's result, and the row of a bid without a
// call: such a bid is rejected in every state other than called and waiting.
func (x protocol) auctioneerAwaitsResult() []machine.Row {
	var uncalled []machine.State
	for _, s := range x.selling() {
		if s != stateCalled && s != stateWaiting {
			uncalled = append(uncalled, s)
		}
	}
	return []machine.Row{
		machine.Asks(stateSold).When(machine.Receive(performatives.ActInformResult)).
			Goto(standard.StateCompleted).
			Because("done, whether the answer is yes or no (addenda §2)"),
		machine.Asks(uncalled...).When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeRejected)).
			Because("a second bid, or a bid without a call"),
	}
}

// auctioneerEnded has the rows of an auctioneer after its CANCEL, and after the end.
func auctioneerEnded() []machine.Row {
	late := []machine.State{
		stateOver, standard.StateCompleted, standard.StateRefused, standard.StateNotUnderstood,
		standard.StateFailed, standard.StateCancelled, standard.StateTimedOut, standard.StateAbandoned, standard.StateMisread,
	}
	return []machine.Row{
		machine.Asks(standard.StateCancelling).When(machine.Receive(performatives.ActInform)).
			Goto(standard.StateCancelled).
			Because("the receipt, also of a peer that does not say which message it answers: the work has ended and no bid binds (addenda §6)"),
		machine.Asks(late...).When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeExpired)).
			Because("a late bid is rejected, so that it does not bind the bidder"),
	}
}
