package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// consider is the responder until it bids, or does not.
func (x contract) consider() []machine.Row {
	idle, considering := answers(machine.Idle), answers(stateConsidering)
	return []machine.Row{
		idle.When(machine.Receive(performatives.ActCFP)).
			Goto(stateConsidering, machine.Arm(timerDeadline), machine.Run(jobConsider)).
			Because("a call arrives"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook the call, or that was lost"),
		considering.When(machine.Command(commandPropose)).
			Goto(stateProposed, machine.Send(performatives.ActPropose), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("the agent bids, and is bound until the proposal lapses"),
		considering.When(machine.Command(commandRefuse)).
			Goto(stateRefused, machine.Send(performatives.ActRefuse)).
			Because("the agent does not bid"),
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
			Because("the agent did not decide in time"),
		considering.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the caller need not wait for its deadline"),
		considering.When(machine.Duplicate(performatives.ActCFP)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the answer is on its way"),
	}
}

// proposed is the responder that is bound by its proposal.
func (x contract) proposed() []machine.Row {
	proposed := answers(stateProposed)
	rows := []machine.Row{
		proposed.When(machine.Receive(performatives.ActAcceptProposal)).
			Goto(stateWorking, machine.Disarm(timerRetry), machine.Arm(timerDeadline), machine.Run(jobPerform)).
			Because("the bid has won"),
		proposed.When(machine.Receive(performatives.ActRejectProposal)).
			Goto(stateRejected).
			Because("the bid has lost"),
		proposed.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActPropose), machine.Arm(timerRetry)).
			Because("the proposal was lost, or its rejection"),
		proposed.When(machine.Duplicate(performatives.ActCFP)).
			Stay(machine.Resend(performatives.ActPropose)).
			Because("the caller has not heard the proposal"),
		proposed.When(machine.Timeout(timerDeadline)).
			Goto(stateLapsed, machine.SendTagged(performatives.ActFailure, tagLapsed)).
			Because("the proposal was valid until now"),
		proposed.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("nothing was begun, so nothing has to stop first"),
		proposed.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops, and cannot do what it proposed"),
	}
	if x.iterated {
		rows = append(rows, proposed.When(machine.Receive(performatives.ActCFP)).
			Goto(stateConsidering, machine.Disarm(timerRetry), machine.Arm(timerDeadline), machine.Run(jobConsider)).
			Because("a revised call: the proposal binds no more (SC00030H)"))
	}
	return rows
}

// contractWorking is the responder that does what it was awarded.
func contractWorking() []machine.Row {
	working := answers(stateWorking)
	return []machine.Row{
		working.When(machine.Command(commandFinish)).
			Goto(stateCompleted, machine.Send(performatives.ActInformResult)).
			Because("done, whether the answer is yes or no (addenda §2)"),
		working.When(machine.Command(commandFail)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("an error or a panic of the handler"),
		working.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(jobPerform), machine.Arm(timerGrace)).
			Because("the receipt goes out when the handler has returned"),
		working.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobPerform), machine.Send(performatives.ActFailure)).
			Because("nobody waits for the result any more"),
		working.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobPerform), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the caller need not wait for its deadline"),
	}
}

// bidWords are the last words of the responder's handlers.
func bidWords() []machine.Symbol {
	return []machine.Symbol{
		machine.Command(commandPropose), machine.Command(commandRefuse), machine.Command(commandNotUnderstood),
		machine.Command(commandFinish), machine.Command(commandFail),
	}
}

// verdicts are the answers to a proposal that expect one themselves.
func (x contract) verdicts() []machine.Symbol {
	if x.iterated {
		return []machine.Symbol{machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActCFP)}
	}
	return []machine.Symbol{machine.Receive(performatives.ActAcceptProposal)}
}

// contractServeCancelling is the responder until its handler has returned.
func contractServeCancelling() []machine.Row {
	cancelling := answers(stateCancelling)
	return []machine.Row{
		cancelling.When(bidWords()...).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("the handler has returned; what it made was withdrawn"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler has not returned: it must not be called cancelled"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops before its handler has returned"),
	}
}

// serveEnded is the responder's afterlife, and what it does with everything
// that no other row names.
func (x contract) serveEnded() []machine.Row {
	live := []machine.State{stateConsidering, stateProposed, stateWorking, stateCancelling}
	again := func(act performatives.Performative, states ...machine.State) machine.Row {
		return answers(states...).When(
			machine.Duplicate(performatives.ActCFP), machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel),
		).
			Stay(machine.Resend(act)).
			Because("the caller has not heard the end; to CANCEL too the true end is the answer")
	}
	return concat(
		[]machine.Row{
			again(performatives.ActInformResult, stateCompleted),
			again(performatives.ActRefuse, stateRefused),
			again(performatives.ActNotUnderstood, stateNotUnderstood),
			again(performatives.ActFailure, stateFailed, stateTimedOut, stateLapsed),
			answers(stateCompleted).When(machine.Duplicate(performatives.ActAcceptProposal)).
				Stay(machine.Resend(performatives.ActInformResult)).
				Because("the caller has not heard the result"),
			answers(stateFailed, stateTimedOut, stateLapsed).When(machine.Duplicate(performatives.ActAcceptProposal)).
				Stay(machine.Resend(performatives.ActFailure)).
				Because("the caller has not heard the failure"),
			answers(stateFailed, stateLapsed).When(x.verdicts()...).
				Stay(machine.Resend(performatives.ActFailure)).
				Because("the proposal was withdrawn, or lapsed, before it was answered"),
			answers(stateCancelled).When(
				machine.Duplicate(performatives.ActCancel), machine.Receive(performatives.ActCFP), machine.Receive(performatives.ActAcceptProposal),
			).
				Stay(machine.Resend(performatives.ActInform)).
				Because("the caller has not heard the receipt, or its CANCEL overtook the act"),
			answers(stateFailed, stateTimedOut).When(bidWords()...).
				Stay(machine.Drop(dropLate)).
				Because("the handler outlived the conversation"),
			answers(contractEnds()...).When(machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("there is nothing left to stop"),
		},
		others(machine.Responder, live, contractEnds()),
	)
}
