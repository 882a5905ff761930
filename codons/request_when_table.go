package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// RequestWhenTable returns the codon of a request that is to be carried out once a
// condition comes true (addenda §6). It is an exchange whose responder always agrees
// before it acts, which takes it two jobs.
func RequestWhenTable() machine.Table {
	x := exchange{
		name: "request-when", title: "Request when",
		purpose: "One agent asks another to do something as soon as a condition comes true. It refuses, or agrees; " +
			"then it waits for the condition, does it once, and says so, with a result if there is one.",
		source:  "addenda §6; FIPA Request When Interaction Protocol (SC00028H)",
		opening: performatives.ActRequestWhen, agree: true,
		opened: "the agent wants something done, but not before a condition is true",
		answers: []answerAct{
			{commandAnswer, performatives.ActInform, stateAnswered, "the condition came true and it is done, with a result if there is one"},
		},
	}
	t := x.table()
	t.Jobs = []machine.Job{
		{
			Role: machine.Responder, Name: jobConsider,
			Ends: []string{commandAgree, commandRefuse, commandNotUnderstood, commandFail},
			Doc:  "the agent decides whether it will do it once the condition is true",
		},
		{
			Role: machine.Responder, Name: jobAnswer,
			Ends: []string{commandAnswer, commandRefuse, commandNotUnderstood, commandFail},
			Doc:  "the agent waits until the condition is true, and does it",
		},
	}
	t.Rows = concat(x.ask(), x.askCancelling(), x.askEnded(),
		whenConsider(x), whenAwait(x), whenCancelling(x), x.serveEnded())
	return t
}

// whenConsider is the responder until it has decided.
func whenConsider(x exchange) []machine.Row {
	idle, considering := answers(machine.Idle), answers(stateAnswering)
	rows := []machine.Row{
		idle.When(machine.Receive(x.opening)).
			Goto(stateAnswering, machine.Arm(timerDeadline), machine.Run(jobConsider)).
			Because("the agent decides whether it will do it"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook what it withdraws, or that was lost"),
		considering.When(machine.Command(commandAgree)).
			Goto(stateAgreed, machine.Send(performatives.ActAgree), machine.Run(jobAnswer)).
			Because("also where the condition is true already"),
		considering.When(machine.Duplicate(x.opening)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the decision is on its way"),
	}
	for _, a := range x.answersTurningDown() {
		rows = append(rows, considering.When(machine.Command(a.command)).Goto(a.end, machine.Send(a.act)).Because(a.why))
	}
	return append(rows, whenEnds(stateAnswering, jobConsider)...)
}

// whenAwait is the responder that has agreed, until it is done.
func whenAwait(x exchange) []machine.Row {
	agreed := answers(stateAgreed)
	rows := []machine.Row{
		agreed.When(machine.Command(commandFail), machine.Command(commandRefuse), machine.Command(commandNotUnderstood)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("what was agreed to can only be done or fail"),
		agreed.When(machine.Duplicate(x.opening)).
			Stay(machine.Resend(performatives.ActAgree)).
			Because("the asker has perhaps not heard it"),
	}
	for _, a := range x.answers {
		rows = append(rows, agreed.When(machine.Command(a.command)).Goto(a.end, machine.Send(a.act)).Because(a.why))
	}
	return append(rows, whenEnds(stateAgreed, jobAnswer)...)
}

// whenEnds is how the responder in a state is made to end while its job runs.
func whenEnds(in machine.State, job string) []machine.Row {
	during := answers(in)
	return []machine.Row{
		during.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(job), machine.Arm(timerGrace)).
			Because("the receipt goes out when the handler has returned"),
		during.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(job), machine.Send(performatives.ActFailure)).
			Because("nobody waits for it any more, whether the condition comes true or not"),
		during.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(job), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the asker need not wait for its deadline"),
	}
}

// whenCancelling is the responder until its handler has returned, in which AGREE is
// the last word of one that was still deciding.
func whenCancelling(x exchange) []machine.Row {
	cancelling := answers(stateCancelling)
	return []machine.Row{
		cancelling.When(append(x.lastWords(), machine.Command(commandAgree))...).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("the handler has returned; what it made was withdrawn"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler has not returned: it must not be called cancelled"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops before its handler has returned"),
		cancelling.When(machine.Duplicate(x.opening), machine.Duplicate(performatives.ActCancel)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the receipt goes out when the handler has returned"),
	}
}
