package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// call is the initiator until there is a proposal.
func (x contract) call() []machine.Row {
	called := asks(stateCalled)
	return []machine.Row{
		asks(machine.Idle).When(machine.Command(commandStart)).
			Goto(stateCalled, machine.Send(performatives.ActCFP), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("the agent calls for proposals"),
		called.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActCFP), machine.Arm(timerRetry)).
			Because("the call or its answer was lost: the same id lets the bidder tell a retry from a second call"),
		called.When(machine.Receive(performatives.ActPropose)).
			Goto(stateProposed, machine.Report(reportProposed), machine.Disarm(timerRetry), machine.Arm(timerDeadline)).
			Because("a bid, which binds the bidder until it lapses"),
		called.When(machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)).
			Goto(stateRejected, machine.Send(performatives.ActRejectProposal)).
			Because("nobody can decide about a proposal that makes no sense"),
		called.When(machine.Receive(performatives.ActRefuse)).
			Goto(stateRefused).
			Because("no bid"),
		called.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("who is silent is out; the bidder keeps the same deadline"),
	}
}

// choose is the initiator with a proposal in hand.
func (x contract) choose() []machine.Row {
	chooses := asks(stateProposed, stateHeld)
	rows := []machine.Row{
		chooses.When(machine.Command(commandAward)).
			Goto(stateAwarded, machine.Send(performatives.ActAcceptProposal), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("the bid wins"),
		chooses.When(machine.Command(commandDecline)).
			Goto(stateRejected, machine.Send(performatives.ActRejectProposal)).
			Because("the bid loses, and binds the bidder no more"),
		asks(stateProposed).When(machine.Command(commandHold)).
			Goto(stateHeld).
			Because("another wins, and this one is the next should it fail"),
		asks(stateHeld).When(machine.Command(commandHold)).
			Goto(stateProposed).
			Because("another wins again"),
		chooses.When(machine.Receive(performatives.ActFailure)).
			Goto(stateFailed).
			Because("the bidder stops"),
		chooses.When(machine.Timeout(timerDeadline)).
			Goto(stateLapsed, machine.Send(performatives.ActRejectProposal)).
			Because("the bidder was not bound for longer; the rejection tells one whose clock is slower"),
	}
	if x.iterated {
		rows = append(rows, chooses.When(machine.Command(commandRevise)).
			Goto(stateCalled, machine.Send(performatives.ActCFP), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("a further round: the same task on other terms (SC00030H)"))
	}
	return rows
}

// contractAwarded is the initiator from the award to the result.
func contractAwarded() []machine.Row {
	awarded, both := asks(stateAwarded), asks(stateCalled, stateAwarded)
	return []machine.Row{
		awarded.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActAcceptProposal), machine.Arm(timerRetry)).
			Because("the award or the result was lost"),
		awarded.When(machine.Receive(performatives.ActInformResult)).
			Goto(stateCompleted).
			Because("done, whether the answer is yes or no (addenda §2)"),
		awarded.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("the winner keeps the same deadline and stops by itself"),
		both.When(machine.Receive(performatives.ActFailure)).
			Goto(stateFailed).
			Because("it was tried and could not be carried out"),
		both.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(stateNotUnderstood).
			Because("it answers any act and ends the conversation (addenda §6)"),
	}
}

// withdraw is the initiator that does not want the task done any more, or cannot
// have it.
func (x contract) withdraw() []machine.Row {
	live, cancelling := asks(stateCalled, stateProposed, stateHeld, stateAwarded), asks(stateCancelling)
	return []machine.Row{
		asks(stateCalled, stateProposed, stateHeld, stateAwarded, stateCancelling).When(machine.ReceiveTagged(performatives.ActFailure, tagLapsed)).
			Goto(stateLapsed).
			Because("the proposal was lost, or nobody answered it in time, or the award came too late"),
		live.When(machine.Command(commandCancel)).
			Goto(stateCancelling, machine.Send(performatives.ActCancel), machine.Arm(timerGrace), machine.Arm(timerRetry)).
			Because("the result may be on its way, so what comes decides how it ends"),
		live.When(machine.Command(commandStop)).
			Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
			Because("nobody is left to wait; the bidder need not go on"),
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
		cancelling.When(machine.Receive(performatives.ActPropose)).
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
		cancelling.When(x.decisions()...).
			Stay(machine.Drop(dropLate)).
			Because("it is cancelled already"),
	}
}

// decisions are the commands that may come to the initiator when it has ended.
func (x contract) decisions() []machine.Symbol {
	all := []machine.Symbol{
		machine.Command(commandAward), machine.Command(commandDecline), machine.Command(commandHold), machine.Command(commandCancel),
	}
	if x.iterated {
		all = append(all, machine.Command(commandRevise))
	}
	return all
}

// callEnded is the initiator's afterlife, and what it does with everything that no
// other row names.
func (x contract) callEnded() []machine.Row {
	ended := append(contractEnds(), stateAbandoned)
	return concat(
		[]machine.Row{
			asks(stateRejected).When(machine.Duplicate(performatives.ActPropose)).
				Stay(machine.Resend(performatives.ActRejectProposal)).
				Because("the bidder has not heard that it lost"),
			asks(stateFailed, stateCancelled, stateTimedOut, stateAbandoned).When(machine.Receive(performatives.ActPropose)).
				Stay(machine.Refuse(performatives.CodeExpired)).
				Because("a late proposal is rejected, so that it binds nobody (addenda §6)"),
			asks(ended...).When(append(x.decisions(), machine.Command(commandStop))...).
				Stay(machine.Drop(dropLate)).
				Because("the end came while the agent made up its mind"),
		},
		others(machine.Initiator, []machine.State{stateCalled, stateProposed, stateHeld, stateAwarded, stateCancelling}, ended),
	)
}
