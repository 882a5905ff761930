package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// sell is the initiator until a round is over.
func (x auction) sell() []machine.Row {
	called := asks(stateCalled)
	callable := []machine.State{stateWaiting}
	if x.rising {
		callable = append(callable, stateOutbid)
	}
	return []machine.Row{
		asks(machine.Idle).When(machine.Command(commandStart)).
			Goto(stateWaiting, machine.Send(performatives.ActInform), machine.Arm(timerDeadline)).
			Because("the auction begins"),
		asks(callable...).When(machine.Command(commandCall)).
			Goto(stateCalled, machine.Send(performatives.ActCFP), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("another price"),
		called.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActCFP), machine.Arm(timerRetry)).
			Because("the call or its answer was lost: the same id lets the bidder tell a retry from another price"),
		called.When(machine.Receive(performatives.ActPropose)).
			Goto(stateProposed, machine.Disarm(timerRetry), machine.Arm(timerDeadline)).
			Because("a bid at the price that was called"),
		called.When(machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)).
			Goto(stateFailed, machine.Send(performatives.ActRejectProposal)).
			Because("a bid of another price, or that makes no sense, is none, and its bidder is out"),
		called.When(machine.ReceiveTagged(performatives.ActRefuse, tagPass)).
			Goto(stateWaiting, machine.Disarm(timerRetry), machine.Arm(timerDeadline)).
			Because("no bid at this price; the next is called nevertheless"),
		called.When(machine.Receive(performatives.ActRefuse)).
			Goto(stateRefused).
			Because("the bidder takes no part"),
		called.When(machine.Stale(performatives.ActPropose), machine.Stale(performatives.ActRefuse)).
			Stay(machine.Drop(dropStale)).
			Because("it answers a price that was called before: nobody bids twice for one, nor by it for the next"),
		called.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.SendTagged(performatives.ActInform, tagClosed)).
			Because("who is silent is out"),
	}
}

// rank is the initiator between two rounds.
func (x auction) rank() []machine.Row {
	closable := []machine.State{stateWaiting, stateLeading}
	rows := []machine.Row{
		asks(stateProposed).When(machine.Command(commandStrike)).
			Goto(stateLeading, machine.Send(performatives.ActAcceptProposal)).
			Because("the first bid at this price"),
		asks(stateProposed).When(machine.Command(commandSpurn)).
			Goto(stateWaiting, machine.Send(performatives.ActRejectProposal)).
			Because("another was first"),
		asks(stateLeading).When(machine.Command(commandKnock)).
			Goto(stateWon, machine.SendTagged(performatives.ActInform, tagWon)).
			Because("nobody has bid more, and nobody else is in the auction any more"),
		asks(stateWon).When(machine.Command(commandSettle)).
			Goto(stateSold, machine.Send(performatives.ActRequest), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("the winner is requested to carry out the transaction"),
	}
	if x.rising {
		closable = append(closable, stateOutbid)
		rows = append(rows,
			asks(stateLeading).When(machine.Command(commandOutbid)).
				Goto(stateOutbid).
				Because("another takes a higher price"),
			asks(stateOutbid).When(machine.Command(commandRestore)).
				Goto(stateLeading).
				Because("who took a higher price is lost"))
	}
	return append(rows,
		asks(closable...).When(machine.Command(commandOver)).
			Goto(stateOver, machine.SendTagged(performatives.ActInform, tagClosed)).
			Because("the auction is over"))
}

// transact is the initiator from the request of the transaction to its result, and
// what may end it before.
func (x auction) transact() []machine.Row {
	sold := asks(stateSold)
	var unheard []machine.State
	for _, s := range x.selling() {
		if s != stateCalled {
			unheard = append(unheard, s)
		}
	}
	return []machine.Row{
		sold.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActRequest), machine.Arm(timerRetry)).
			Because("the request or the result was lost"),
		sold.When(machine.Receive(performatives.ActInformResult)).
			Goto(stateCompleted).
			Because("done, whether the answer is yes or no (addenda §2)"),
		sold.When(machine.Receive(performatives.ActRefuse)).
			Goto(stateRefused).
			Because("the winner does not stand by its bid"),
		asks(stateCalled, stateSold).When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(stateNotUnderstood).
			Because("it answers any act and ends the conversation (addenda §6)"),
		asks(x.selling()...).When(machine.Receive(performatives.ActFailure)).
			Goto(stateFailed).
			Because("the bidder stops, did not decide in time, or has failed in the transaction"),
		asks(unheard...).When(machine.Receive(performatives.ActPropose)).
			Stay(machine.Refuse(performatives.CodeRejected)).
			Because("a second bid, or one that nobody has called for"),
		asks(unheard...).When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("the auction has to be over; the bidder keeps the same deadline"),
	}
}

// withdraw is the initiator that ends the auction before its time.
func (x auction) withdraw() []machine.Row {
	live, cancelling := asks(x.selling()...), asks(stateCancelling)
	return []machine.Row{
		live.When(machine.Command(commandCancel)).
			Goto(stateCancelling, machine.Send(performatives.ActCancel), machine.Arm(timerGrace), machine.Arm(timerRetry)).
			Because("the result may be on its way, so what comes decides how it ends"),
		live.When(machine.Command(commandStop)).
			Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
			Because("nobody is left to sell; the bidder need not go on"),
		cancelling.When(machine.Receive(performatives.ActInform)).
			Goto(stateCancelled).
			Because("the receipt: nothing runs any more, and nothing binds the bidder (addenda §6)"),
		cancelling.When(machine.Receive(performatives.ActInformResult)).
			Goto(stateCompleted).
			Because("completion won the race; a result in hand is better than none"),
		cancelling.When(machine.Receive(performatives.ActRefuse)).
			Goto(stateRefused).
			Because("the refusal was on its way"),
		cancelling.When(machine.Receive(performatives.ActFailure)).
			Goto(stateFailed).
			Because("the work could not be stopped, or had failed before"),
		cancelling.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(stateNotUnderstood).
			Because("of the call, or of CANCEL by a bidder that does not know it"),
		cancelling.When(machine.Receive(performatives.ActPropose), machine.ReceiveTagged(performatives.ActRefuse, tagPass)).
			Stay(machine.Drop(dropLate)).
			Because("the bidder answers the CANCEL, too"),
		cancelling.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActCancel), machine.Arm(timerRetry)).
			Because("CANCEL or its answer was lost"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("no word of the end came in time"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateAbandoned).
			Because("CANCEL is on its way"),
		cancelling.When(x.orders()...).
			Stay(machine.Drop(dropLate)).
			Because("it is cancelled already"),
	}
}

// orders are the commands that may come to the initiator when it has ended.
func (x auction) orders() []machine.Symbol {
	all := []machine.Symbol{
		machine.Command(commandCall), machine.Command(commandStrike), machine.Command(commandSpurn), machine.Command(commandKnock),
		machine.Command(commandSettle), machine.Command(commandOver), machine.Command(commandCancel),
	}
	if x.rising {
		all = append(all, machine.Command(commandOutbid), machine.Command(commandRestore))
	}
	return all
}

// saleEnded is the initiator's afterlife, and what it does with everything that no
// other row names.
func (x auction) saleEnded() []machine.Row {
	return concat(
		[]machine.Row{
			asks(stateFailed, stateCancelled, stateTimedOut, stateAbandoned).When(machine.Receive(performatives.ActPropose)).
				Stay(machine.Refuse(performatives.CodeExpired)).
				Because("a late bid is rejected, so that it binds nobody"),
			asks(saleEnds()...).When(append(x.orders(), machine.Command(commandStop))...).
				Stay(machine.Drop(dropLate)).
				Because("the end came while the auctioneer made up its mind"),
		},
		others(machine.Initiator, append(x.selling(), stateCancelling), saleEnds()),
	)
}
