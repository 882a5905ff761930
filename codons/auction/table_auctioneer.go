package auction

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// auctioneerCalls has the rows of an auctioneer until the round is over for one bidder.
func (x protocol) auctioneerCalls() []machine.Row {
	called := codons.Asks(stateCalled)
	callable := []machine.State{stateWaiting}
	if x.rising {
		callable = append(callable, stateOutbid)
	}
	return []machine.Row{
		codons.Asks(machine.Idle).When(machine.Command(codons.CommandStart)).
			Goto(stateWaiting, machine.Send(performatives.ActInform)).
			Because("the auction begins"),
		codons.Asks(callable...).When(machine.Command(commandCall)).
			Goto(stateCalled, machine.Send(performatives.ActCFP), machine.Arm(codons.TimerDeadline), machine.Arm(codons.TimerRetry)).
			Because("another price"),
		called.When(machine.Receive(performatives.ActPropose)).
			Goto(stateProposed, machine.Disarm(codons.TimerRetry), machine.Arm(codons.TimerDeadline)).
			Because("a bid at the price that was called"),
		called.When(machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)).
			Goto(codons.StateFailed, machine.Send(performatives.ActRejectProposal)).
			Because("an unreadable bid, and a bid at another price, do not count, and the bidder is out"),
		called.When(machine.ReceiveTagged(performatives.ActRefuse, tagPass)).
			Goto(stateWaiting, machine.Disarm(codons.TimerRetry), machine.Arm(codons.TimerDeadline)).
			Because("no bid at this price; the bidder hears the next one"),
		called.When(machine.Timeout(codons.TimerDeadline)).
			Goto(stateWaiting, machine.Disarm(codons.TimerRetry), machine.Arm(codons.TimerDeadline)).
			Because("the round is over: silence is no bid, and the bidder hears the next price (XC00031F, XC00032F)"),
	}
}

// auctioneerHearsLate has the rows of answers that arrive after their round.
func (x protocol) auctioneerHearsLate() []machine.Row {
	selling, waiting := codons.Asks(x.selling()...), codons.Asks(stateWaiting)
	return []machine.Row{
		selling.When(machine.Stale(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeExpired)).
			Because("a bid for an earlier price is rejected, so that it does not bind the bidder"),
		selling.When(machine.StaleTagged(performatives.ActRefuse, tagPass)).
			Stay(machine.Drop(codons.DropStale)).
			Because("it answers an earlier price; a bidder that has left at an earlier price has left at this one, too"),
		waiting.When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeExpired)).
			Because("the round of this bid is over"),
		waiting.When(machine.ReceiveTagged(performatives.ActRefuse, tagPass)).
			Stay(machine.Drop(codons.DropLate)).
			Because("the round is over, and silence was no bid"),
		waiting.When(machine.Receive(performatives.ActRefuse)).
			Goto(codons.StateRefused).
			Because("the bidder has left, after the round was over"),
		waiting.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(codons.StateNotUnderstood).
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
		codons.Asks(stateProposed).When(machine.Command(commandAccept)).
			Goto(stateLeading, machine.Send(performatives.ActAcceptProposal), machine.Disarm(codons.TimerRetry)).
			Because("the first bid at this price; no answer is awaited, so it is not sent again"),
		codons.Asks(stateProposed).When(machine.Command(commandReject)).
			Goto(stateWaiting, machine.Send(performatives.ActRejectProposal)).
			Because("another bidder was first"),
		codons.Asks(stateLeading).When(machine.Command(commandSell)).
			Goto(stateWon, machine.SendTagged(performatives.ActInform, tagWon)).
			Because("no bid is higher, and no other bidder is left in the auction"),
		codons.Asks(stateWon).When(machine.Command(commandSettle)).
			Goto(stateSold, machine.Send(performatives.ActRequest), machine.Arm(codons.TimerDeadline), machine.Arm(codons.TimerRetry)).
			Because("the winner is requested to carry out the transaction"),
	}
	if x.rising {
		closable = append(closable, stateOutbid)
		rows = append(rows,
			codons.Asks(stateLeading).When(machine.Command(commandOutbid)).
				Goto(stateOutbid).
				Because("another bidder takes a higher price"),
			codons.Asks(stateOutbid).When(machine.Command(commandRestore)).
				Goto(stateLeading).
				Because("the bidder that took a higher price is lost"))
	}
	told := []machine.State{stateLeading, stateWon, stateSold}
	if x.rising {
		told = append(told, stateOutbid)
	}
	return append(rows,
		codons.Asks(told...).When(machine.Undelivered(performatives.ActAcceptProposal)).
			Stay(machine.Drop(codons.DropUndeliverable)).
			Because("no answer to it is awaited, and the REQUEST of the transaction or the next price says the same"),
		codons.Asks(closable...).When(machine.Command(commandOver)).
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
		codons.Asks(stateSold).When(machine.Receive(performatives.ActInformResult)).
			Goto(codons.StateCompleted).
			Because("done, whether the answer is yes or no (addenda §2)"),
		codons.Asks(uncalled...).When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeRejected)).
			Because("a second bid, or a bid without a call"),
	}
}

// auctioneerEnded has the rows of an auctioneer after its CANCEL, and after the end.
func auctioneerEnded() []machine.Row {
	late := []machine.State{
		stateOver, codons.StateCompleted, codons.StateRefused, codons.StateNotUnderstood,
		codons.StateFailed, codons.StateCancelled, codons.StateTimedOut, codons.StateAbandoned, codons.StateMisread,
	}
	return []machine.Row{
		codons.Asks(codons.StateCancelling).When(machine.Receive(performatives.ActInform)).
			Goto(codons.StateCancelled).
			Because("the receipt, also of a peer that does not say which message it answers: the work has ended and no bid binds (addenda §6)"),
		codons.Asks(late...).When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeExpired)).
			Because("a late bid is rejected, so that it does not bind the bidder"),
	}
}
