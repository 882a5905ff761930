package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// attend is the responder that hears of the auction and of its prices.
func attend() []machine.Row {
	idle, announced := answers(machine.Idle), answers(stateAnnounced)
	return []machine.Row{
		idle.When(machine.Receive(performatives.ActInform)).
			Goto(stateAnnounced, machine.Arm(timerDeadline)).
			Because("an auction begins"),
		idle.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("it is over already: everything before was lost or overtaken"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook the announcement, or that was lost"),
		answers(append(resting(), machine.Idle, stateAnnounced)...).When(machine.Receive(performatives.ActCFP)).
			Goto(stateConsidering, machine.Arm(timerDeadline), machine.Run(jobConsider)).
			Because("a price is called, to all who do not lead: a bid at the one before has lost, even if nobody said so"),
		answers(append(resting(), stateAnnounced)...).When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("nothing runs that would have to stop first"),
		announced.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("the auction is over"),
		announced.When(machine.Timeout(timerDeadline), machine.Command(commandStop)).
			Goto(stateAbsent).
			Because("it has not been asked for anything yet, so there is nothing to answer"),
	}
}

// ponder is the responder while the agent decides about a price.
func ponder() []machine.Row {
	considering := answers(stateConsidering)
	return []machine.Row{
		considering.When(machine.Command(commandPropose)).
			Goto(stateProposed, machine.Send(performatives.ActPropose), machine.Arm(timerDeadline)).
			Because("the agent takes the price, and is bound until a higher one is called or the auction is over"),
		considering.When(machine.Command(commandPass)).
			Goto(statePassed, machine.SendTagged(performatives.ActRefuse, tagPass), machine.Arm(timerDeadline)).
			Because("the agent does not take this price"),
		considering.When(machine.Command(commandRefuse)).
			Goto(stateRefused, machine.Send(performatives.ActRefuse)).
			Because("the agent takes no part"),
		considering.When(machine.Command(commandNotUnderstood)).
			Goto(stateNotUnderstood, machine.Send(performatives.ActNotUnderstood)).
			Because("the call makes no sense to the agent"),
		considering.When(machine.Command(commandFail)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent failed over it"),
		considering.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(jobConsider), machine.Arm(timerGrace)).
			Because("the receipt goes out when the handler has returned"),
		considering.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent did not decide in time, and is out"),
		considering.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the auctioneer need not wait for the end of the round"),
		considering.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver, machine.Stop(jobConsider)).
			Because("the round was over before the agent decided"),
	}
}

// awaitPrice is the responder between two prices.
func awaitPrice() []machine.Row {
	resting := answers(resting()...)
	return []machine.Row{
		answers(stateProposed, stateWaiting).When(machine.Receive(performatives.ActAcceptProposal)).
			Goto(stateLeading).
			Because("the first bid at this price"),
		answers(stateProposed, stateLeading).When(machine.Receive(performatives.ActRejectProposal)).
			Goto(stateWaiting).
			Because("another was first"),
		answers(stateProposed, stateWaiting, stateLeading).When(machine.ReceiveTagged(performatives.ActInform, tagWon)).
			Goto(stateLeading).
			Because("the auction is over, and the transaction will be requested"),
		answers(stateProposed, stateWaiting, stateLeading).When(machine.Receive(performatives.ActRequest)).
			Goto(stateSettling, machine.Arm(timerDeadline), machine.Run(jobSettle)).
			Because("the agent has won, even if nothing was heard of its bid before"),
		resting.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("the auction is over"),
		resting.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Send(performatives.ActFailure)).
			Because("the auction had to be over by now"),
		resting.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops, and does not stand by its bid"),
		resting.When(machine.Stale(performatives.ActAcceptProposal), machine.Stale(performatives.ActRejectProposal)).
			Stay(machine.Drop(dropStale)).
			Because("it is about a bid at an earlier price"),
		answers(stateConsidering, statePassed).When(machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(dropStale)).
			Because("it is about a bid at an earlier price; a later one was called since"),
		answers(stateLeading).When(machine.Receive(performatives.ActAcceptProposal)).
			Stay(machine.Drop(dropLate)).
			Because("the news that it has won overtook it"),
		answers(stateWaiting).When(machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(dropStale)).
			Because("it is about a bid at an earlier price"),
		answers(stateProposed).When(machine.Duplicate(performatives.ActCFP)).
			Stay(machine.Resend(performatives.ActPropose)).
			Because("the auctioneer has not heard the bid"),
		answers(statePassed).When(machine.Duplicate(performatives.ActCFP)).
			Stay(machine.Resend(performatives.ActRefuse)).
			Because("the auctioneer has not heard that there is no bid"),
	}
}

// settle is the responder that carries out the transaction.
func settle() []machine.Row {
	settling := answers(stateSettling)
	return []machine.Row{
		settling.When(machine.Command(commandFinish)).
			Goto(stateCompleted, machine.Send(performatives.ActInformResult)).
			Because("done, whether the answer is yes or no (addenda §2)"),
		settling.When(machine.Command(commandFail)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("an error or a panic of the handler"),
		settling.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(jobSettle), machine.Arm(timerGrace)).
			Because("the receipt goes out when the handler has returned"),
		settling.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobSettle), machine.Send(performatives.ActFailure)).
			Because("nobody waits for the result any more"),
		settling.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobSettle), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the auctioneer need not wait for its deadline"),
		settling.When(machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(dropLate)).
			Because("the request overtook it"),
	}
}

// priceWords are the last words of the handler that decides about a price.
func priceWords() []machine.Symbol {
	return []machine.Symbol{
		machine.Command(commandPropose), machine.Command(commandPass), machine.Command(commandRefuse),
		machine.Command(commandNotUnderstood), machine.Command(commandFail),
	}
}

// bidCancelling is the responder until its handler has returned.
func bidCancelling() []machine.Row {
	cancelling := answers(stateCancelling)
	return []machine.Row{
		cancelling.When(append(priceWords(), machine.Command(commandFinish))...).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("the handler has returned; what it made was withdrawn"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler has not returned: it must not be called cancelled"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops before its handler has returned"),
		cancelling.When(machine.Receive(performatives.ActAcceptProposal)).
			Stay(machine.Drop(dropLate)).
			Because("CANCEL overtook it"),
	}
}

// bidEnded is the responder's afterlife, and what it does with everything that no
// other row names.
func bidEnded() []machine.Row {
	live := append(resting(), stateAnnounced, stateConsidering, stateSettling, stateCancelling)
	again := func(act performatives.Performative, on performatives.Performative, states ...machine.State) machine.Row {
		return answers(states...).When(
			machine.Duplicate(on), machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel),
		).
			Stay(machine.Resend(act)).
			Because("the auctioneer has not heard the end; to CANCEL too the true end is the answer")
	}
	return concat(
		[]machine.Row{
			again(performatives.ActInformResult, performatives.ActRequest, stateCompleted),
			again(performatives.ActRefuse, performatives.ActCFP, stateRefused),
			again(performatives.ActNotUnderstood, performatives.ActCFP, stateNotUnderstood),
			again(performatives.ActFailure, performatives.ActCFP, stateFailed, stateTimedOut),
			answers(stateFailed, stateTimedOut).When(
				machine.Duplicate(performatives.ActRequest), machine.Receive(performatives.ActRequest), machine.Receive(performatives.ActAcceptProposal),
			).
				Stay(machine.Resend(performatives.ActFailure)).
				Because("the bidder had left before it was answered, or the auctioneer has not heard of its failure"),
			answers(stateCancelled).When(
				machine.Duplicate(performatives.ActCancel), machine.Receive(performatives.ActCFP),
				machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActRequest),
			).
				Stay(machine.Resend(performatives.ActInform)).
				Because("the auctioneer has not heard the receipt, or its CANCEL overtook the act"),
			answers(stateCompleted, stateOver, stateRefused, stateNotUnderstood).When(machine.Receive(performatives.ActAcceptProposal)).
				Stay(machine.Drop(dropLate)).
				Because("the end overtook it"),
			answers(stateFailed, stateTimedOut).When(append(priceWords(), machine.Command(commandFinish))...).
				Stay(machine.Drop(dropLate)).
				Because("the handler outlived the conversation"),
			answers(stateOver).When(priceWords()...).
				Stay(machine.Drop(dropLate)).
				Because("the handler outlived the conversation"),
			answers(bidEnds()...).When(machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("there is nothing left to stop"),
		},
		others(machine.Responder, live, bidEnds()),
	)
}
