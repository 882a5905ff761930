package auction

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// bidderAttends has the rows of the announcement and of the prices.
func bidderAttends() []machine.Row {
	idle, announced := machine.Answers(machine.Idle), machine.Answers(stateAnnounced)
	return []machine.Row{
		idle.When(machine.Receive(performatives.ActInform)).
			Goto(stateAnnounced).
			Because("an auction begins"),
		idle.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("the auction is over already: the earlier messages were lost or overtaken"),
		machine.Answers(append(betweenPrices(), machine.Idle, stateAnnounced)...).When(machine.Receive(performatives.ActCFP)).
			Goto(standard.StateConsidering, machine.Arm(machine.TimerDeadline), machine.Run(standard.JobConsider)).
			Because("a price is called, to all bidders but the leader: a bid at the price before has lost, even if the REJECT_PROPOSAL was lost"),
		machine.Answers(append(betweenPrices(), standard.StateConsidering, stateMissed, stateRecalled)...).When(machine.Stale(performatives.ActCFP)).
			Stay(machine.Drop(machine.DropStale)).
			Because("a later price overtook this one, whose round is over"),
		machine.Answers(append(betweenPrices(), standard.StateConsidering, stateMissed, stateRecalled, statePurchasing, standard.StateSettling, standard.StateCancelling)...).When(machine.Receive(performatives.ActInform)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the announcement, which a price, the REQUEST or CANCEL overtook"),
		announced.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("the auction is over"),
		announced.When(machine.Timeout(machine.TimerDeadline), machine.Commanded(standard.CommandStop)).
			Goto(stateAbsent).
			Because("the bidder has no price to answer yet"),
	}
}

// bidderConsiders has the rows of a bidder whose agent decides about a price.
func bidderConsiders() []machine.Row {
	considering := machine.Answers(standard.StateConsidering)
	return []machine.Row{
		considering.When(machine.Commanded(commandPropose)).
			Goto(stateProposed, machine.Send(performatives.ActPropose), machine.Arm(machine.TimerDeadline)).
			Because("the agent takes the price, and is bound until a higher one is called or the auction is over"),
		considering.When(machine.Commanded(commandPass)).
			Goto(statePassed, machine.SendTagged(performatives.ActRefuse, tagPass), machine.Arm(machine.TimerDeadline)).
			Because("the agent does not take this price"),
		considering.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver, machine.Stop(standard.JobConsider)).
			Because("the auction was over before the agent decided"),
		considering.When(machine.Timeout(machine.TimerDeadline)).
			Goto(stateMissed, machine.Stop(standard.JobConsider), machine.Arm(machine.TimerDeadline)).
			Because("the round is over: silence is no bid, and the bidder stays (XC00031F, XC00032F)"),
		considering.When(machine.Receive(performatives.ActCFP)).
			Goto(stateRecalled, machine.Stop(standard.JobConsider), machine.Arm(machine.TimerDeadline)).
			Because("the auctioneer's clock ended the round first"),
	}
}

// bidderOverruns has the rows of a bidder whose handler has not returned although its round is
// over.
func bidderOverruns() []machine.Row {
	missed, recalled := machine.Answers(stateMissed), machine.Answers(stateRecalled)
	overruns := machine.Answers(stateMissed, stateRecalled)
	decided := []machine.Symbol{
		machine.Commanded(commandPropose), machine.Commanded(commandPass),
		machine.Commanded(standard.CommandRefuse), machine.Commanded(standard.CommandNotUnderstood), machine.Commanded(standard.CommandFail),
	}
	return []machine.Row{
		missed.When(decided...).
			Goto(stateSilent).
			Because("the round is over; an agent that leaves may say so at the next price"),
		recalled.When(decided...).
			Goto(standard.StateConsidering, machine.Run(standard.JobConsider)).
			Because("the decision is about an earlier price; the agent is asked about the latest one"),
		overruns.When(machine.Receive(performatives.ActCFP)).
			Goto(stateRecalled, machine.Arm(machine.TimerDeadline)).
			Because("another price, while a handler decides about an earlier one: one handler runs at a time"),
		recalled.When(machine.Timeout(machine.TimerDeadline)).
			Goto(stateMissed, machine.Arm(machine.TimerDeadline)).
			Because("the handler has outlived this round, too"),
		overruns.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("the auction was over before the handler returned"),
	}
}

// bidderBetweenPrices has the rows of a bidder whose agent has answered the latest price.
func bidderBetweenPrices() []machine.Row {
	between := machine.Answers(betweenPrices()...)
	return []machine.Row{
		machine.Answers(stateProposed, stateWaiting).When(machine.Receive(performatives.ActAcceptProposal)).
			Goto(stateLeading).
			Because("the first bid at this price"),
		machine.Answers(stateProposed, stateLeading).When(machine.Receive(performatives.ActRejectProposal)).
			Goto(stateWaiting).
			Because("another bidder was first"),
		machine.Answers(stateProposed, stateWaiting, stateLeading).When(machine.ReceiveTagged(performatives.ActInform, tagWon)).
			Goto(stateLeading).
			Because("the auction is over, and the transaction will be requested"),
		machine.Answers(stateProposed, stateWaiting, stateLeading).When(machine.Receive(performatives.ActRequest)).
			Goto(statePurchasing, machine.Arm(machine.TimerDeadline), machine.Run(jobSettle)).
			Because("the agent has won, even if the ACCEPT_PROPOSAL for its bid was lost"),
		between.When(machine.ReceiveTagged(performatives.ActInform, tagClosed)).
			Goto(stateOver).
			Because("the auction is over"),
		between.When(machine.Stale(performatives.ActAcceptProposal), machine.Stale(performatives.ActRejectProposal)).
			Stay(machine.Drop(machine.DropStale)).
			Because("it is about a bid at an earlier price"),
		machine.Answers(standard.StateConsidering, stateMissed, stateRecalled, statePassed, stateSilent).When(machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(machine.DropStale)).
			Because("it is about a bid at an earlier price"),
		machine.Answers(stateLeading).When(machine.Receive(performatives.ActAcceptProposal)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the INFORM of the win overtook it"),
		machine.Answers(stateWaiting).When(machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(machine.DropStale)).
			Because("it is about a bid at an earlier price"),
	}
}

// bidderSettles has the rows of a bidder that carries out the transaction.
func bidderSettles() []machine.Row {
	return []machine.Row{
		machine.Answers(statePurchasing).When(machine.Commanded(standard.CommandFinish)).
			Goto(standard.StateCompleted, machine.Send(performatives.ActInformResult)).
			Because("done, whether the answer is yes or no (addenda §2)"),
		machine.Answers(statePurchasing).When(machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the request overtook it"),
	}
}

// bidderEnded has the rows of a bidder after CANCEL, and after the end.
func bidderEnded() []machine.Row {
	return []machine.Row{
		machine.Answers(standard.StateSettling, standard.StateCancelling).When(machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActRejectProposal)).
			Stay(machine.Drop(machine.DropLate)).
			Because("CANCEL overtook it"),
		machine.Answers(standard.StateSettling, standard.StateCancelling, statePurchasing).When(machine.Receive(performatives.ActCFP)).
			Stay(machine.Drop(machine.DropLate)).
			Because("CANCEL overtook it, or the REQUEST overtook an earlier price"),
		machine.Answers(standard.StateCompleted).When(machine.Receive(performatives.ActCFP)).
			Stay(machine.Resend(performatives.ActInformResult)).
			Because("an earlier price, which the bid and all after it overtook"),
		machine.Answers(standard.StateSettling).When(machine.Receive(performatives.ActRequest)).
			Stay(machine.Drop(machine.DropLate)).
			Because("CANCEL overtook it"),
		machine.Answers(stateAbsent).When(machine.Receive(performatives.ActCFP)).
			Stay(machine.Refuse(performatives.CodeConversationEnded)).
			Because("the bidder had left before the price was called"),
		machine.Answers(stateAbsent).When(machine.Duplicate(performatives.ActCFP), machine.Duplicate(performatives.ActCancel)).
			Stay(machine.Resend(performatives.ActFailure)).
			Because("the auctioneer has not received the refusal"),
		machine.Answers(standard.StateFailed, standard.StateTimedOut).When(machine.Receive(performatives.ActRequest), machine.Receive(performatives.ActAcceptProposal)).
			Stay(machine.Resend(performatives.ActFailure)).
			Because("the bidder had left before its bid was answered, or the auctioneer has not received the failure"),
		machine.Answers(standard.StateCompleted, stateOver, standard.StateRefused, standard.StateNotUnderstood).When(machine.Receive(performatives.ActAcceptProposal)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the end overtook it"),
	}
}
