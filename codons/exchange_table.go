package codons

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// exchange is a codon in which one act is answered by one of a few others, perhaps
// after an AGREE: FIPA's request, query, propose and their kin (addenda §6).
type exchange struct {
	name, title, purpose, source string

	opening performatives.Performative
	agree   bool   // the responder may say that it will do it, before it has
	reports bool   // having agreed, it may say how far it is
	job     string // what the responder's handler does
	opened  string // why the conversation is begun
	answers []answerAct
	denial  *answerAct // in place of REFUSE, for an opening act that asks for nothing
}

// answerAct is one way in which an exchange ends well.
type answerAct struct {
	command string // by which the responder gives it
	act     performatives.Performative
	end     machine.State
	why     string
}

// answersTurningDown are the answers that every exchange has besides its own.
func (x exchange) answersTurningDown() []answerAct {
	refusal := answerAct{commandRefuse, performatives.ActRefuse, stateRefused, "not for this asker, or not now (addenda §6)"}
	if x.denial != nil {
		refusal = *x.denial
	}
	return []answerAct{
		refusal,
		{commandNotUnderstood, performatives.ActNotUnderstood, stateNotUnderstood, "it answers any act and ends the conversation (addenda §6)"},
		{commandFail, performatives.ActFailure, stateFailed, "it was tried and could not be carried out"},
	}
}

func (x exchange) allAnswers() []answerAct {
	return append(slices.Clone(x.answers), x.answersTurningDown()...)
}

// ends are the terminal states that an answer brings about.
func (x exchange) ends() []machine.State {
	var ends []machine.State
	for _, a := range x.allAnswers() {
		if !slices.Contains(ends, a.end) {
			ends = append(ends, a.end)
		}
	}
	return ends
}

// during are the live states of a role in which the answer is awaited.
func (x exchange) during(first machine.State) []machine.State {
	if x.agree {
		return []machine.State{first, stateAgreed}
	}
	return []machine.State{first}
}

func (x exchange) table() machine.Table {
	live := []machine.State{stateAsked, stateAnswering}
	if x.agree {
		live = append(live, stateAgreed)
	}
	job := machine.Job{Role: machine.Responder, Name: jobAnswer, Doc: x.job}
	if x.agree {
		job.Says = []string{commandAgree}
	}
	if x.reports {
		job.Says = append(job.Says, commandReport)
	}
	for _, a := range x.allAnswers() {
		job.Ends = append(job.Ends, a.command)
	}
	return machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Live:     append(live, stateCancelling),
		Terminal: append(x.ends(), stateCancelled, stateTimedOut, stateAbandoned),
		Jobs:     []machine.Job{job},
		Timers:   exchangeTimers(),
		Rows:     concat(x.ask(), x.askCancelling(), x.askEnded(), x.serve(), x.serveCancelling(), x.serveEnded()),
		Agree:    x.pairs(),
	}
}

func exchangeTimers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: timerDeadline, Doc: "until the opening act's ReplyBy"},
		{Role: machine.Initiator, Name: timerRetry, Doc: "until an opening act or CANCEL without a final answer is sent again"},
		{Role: machine.Initiator, Name: timerGrace, Doc: "how long to wait for the end after a CANCEL"},
		{Role: machine.Responder, Name: timerDeadline, Doc: "until the opening act's ReplyBy, or the agent's own limit when it has none"},
		{Role: machine.Responder, Name: timerGrace, Doc: "how long a cancelled handler may take to return"},
	}
}

// ask is the initiator until it has its answer.
func (x exchange) ask() []machine.Row {
	asked, during := asks(stateAsked), asks(x.during(stateAsked)...)
	rows := []machine.Row{
		asks(machine.Idle).When(machine.Command(commandStart)).
			Goto(stateAsked, machine.Send(x.opening), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because(x.opened),
		during.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(x.opening), machine.Arm(timerRetry)).
			Because("the act or its answer was lost: the same id lets the peer tell a retry from a second one"),
		during.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("the peer keeps the same deadline and stops by itself"),
		during.When(machine.Command(commandCancel)).
			Goto(stateCancelling, machine.Send(performatives.ActCancel), machine.Arm(timerGrace), machine.Arm(timerRetry)).
			Because("the answer may be on its way, so what comes decides how it ends"),
		during.When(machine.Command(commandStop)).
			Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
			Because("nobody is left to wait; the peer need not go on"),
	}
	if x.agree {
		rows = append(rows,
			asked.When(machine.Receive(performatives.ActAgree)).
				Goto(stateAgreed, machine.Arm(timerRetry), machine.Report(reportAgreed)).
				Because("it will be done; agree may be skipped, lost or overtaken (addenda §6)"))
	}
	if x.reports {
		rows = append(rows, x.askReports()...)
	}
	for _, a := range x.allAnswers() {
		rows = append(rows, during.When(machine.Receive(a.act)).Goto(a.end).Because(a.why))
	}
	return rows
}

// askCancelling is the initiator between CANCEL and the end.
func (x exchange) askCancelling() []machine.Row {
	cancelling := asks(stateCancelling)
	rows := []machine.Row{
		cancelling.When(machine.ReceiveTagged(performatives.ActInform, tagReceipt)).
			Goto(stateCancelled).
			Because("the receipt: nothing runs any more (addenda §6)"),
		cancelling.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActCancel), machine.Arm(timerRetry)).
			Because("CANCEL or its answer was lost"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("no word of the end came in time"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateAbandoned).
			Because("CANCEL is on its way"),
		cancelling.When(machine.Command(commandCancel)).
			Stay(machine.Drop(dropDuplicate)).
			Because("it is cancelled already"),
	}
	if x.agree {
		rows = append(rows, cancelling.When(machine.Receive(performatives.ActAgree)).
			Stay(machine.Drop(dropLate)).
			Because("it says nothing about the end"))
	}
	if x.reports {
		rows = append(rows, cancelling.When(machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Drop(dropLate)).
			Because("it says nothing about the end"))
	}
	for _, a := range x.allAnswers() {
		rows = append(rows, cancelling.When(machine.Receive(a.act)).Goto(a.end).
			Because("it won the race with CANCEL, or is the answer to that"))
	}
	return rows
}

// askEnded is the initiator's afterlife, and what it does with everything that no
// other row names.
func (x exchange) askEnded() []machine.Row {
	ended := append(x.ends(), stateCancelled, stateTimedOut, stateAbandoned)
	var late []machine.Row
	for _, a := range x.answers {
		if a.act.ExpectsReply() {
			late = append(late, asks(stateTimedOut, stateAbandoned).When(machine.Receive(a.act)).
				Stay(machine.Drop(dropLate)).
				Because("here it ends the conversation, so its sender waits for nothing"))
		}
	}
	return concat(late,
		[]machine.Row{
			asks(ended...).When(machine.Command(commandCancel), machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("the end came first"),
		},
		others(machine.Initiator, append(x.during(stateAsked), stateCancelling), ended),
	)
}

// serve is the responder until it has answered.
func (x exchange) serve() []machine.Row {
	idle, during := answers(machine.Idle), answers(x.during(stateAnswering)...)
	rows := []machine.Row{
		idle.When(machine.Receive(x.opening)).
			Goto(stateAnswering, machine.Arm(timerDeadline), machine.Run(jobAnswer)).
			Because("the agent's handler takes it on"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook what it withdraws, or that was lost"),
		during.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(jobAnswer), machine.Arm(timerGrace)).
			Because("the receipt goes out when the handler has returned"),
		during.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobAnswer), machine.Send(performatives.ActFailure)).
			Because("nobody waits for the answer any more"),
		during.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobAnswer), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the asker need not wait for its deadline"),
		answers(stateAnswering).When(machine.Duplicate(x.opening)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the answer is on its way"),
	}
	for _, a := range x.answers {
		rows = append(rows, during.When(machine.Command(a.command)).Goto(a.end, machine.Send(a.act)).Because(a.why))
	}
	for _, a := range x.answersTurningDown() {
		rows = append(rows, answers(stateAnswering).When(machine.Command(a.command)).Goto(a.end, machine.Send(a.act)).Because(a.why))
	}
	if x.reports {
		rows = append(rows, x.serveReports()...)
	}
	return append(rows, x.serveAgreed()...)
}

// serveAgreed is the responder that has agreed and not answered yet.
func (x exchange) serveAgreed() []machine.Row {
	if !x.agree {
		return nil
	}
	agreed := answers(stateAgreed)
	return []machine.Row{
		answers(stateAnswering).When(machine.Command(commandAgree)).
			Goto(stateAgreed, machine.Send(performatives.ActAgree)).
			Because("it will be done, and takes a while"),
		agreed.When(machine.Command(commandAgree)).
			Stay(machine.Drop(dropDuplicate)).
			Because("once is enough"),
		agreed.When(machine.Command(commandFail), machine.Command(commandRefuse), machine.Command(commandNotUnderstood)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("what was agreed to can only be done or fail"),
		agreed.When(machine.Duplicate(x.opening)).
			Stay(machine.Resend(performatives.ActAgree)).
			Because("the asker has perhaps not heard it"),
	}
}

// serveCancelling is the responder until its handler has returned.
func (x exchange) serveCancelling() []machine.Row {
	cancelling := answers(stateCancelling)
	rows := []machine.Row{
		cancelling.When(x.lastWords()...).
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
	if x.agree {
		rows = append(rows, cancelling.When(machine.Command(commandAgree)).
			Stay(machine.Drop(dropLate)).
			Because("the asker does not care any more"))
	}
	if x.reports {
		rows = append(rows, cancelling.When(machine.Command(commandReport)).
			Stay(machine.Drop(dropLate)).
			Because("the asker does not care any more"))
	}
	return rows
}

// lastWords are the commands with which the responder's handler ends.
func (x exchange) lastWords() []machine.Symbol {
	var words []machine.Symbol
	for _, a := range x.allAnswers() {
		words = append(words, machine.Command(a.command))
	}
	return words
}

// serveEnded is the responder's afterlife, and what it does with everything that no
// other row names.
func (x exchange) serveEnded() []machine.Row {
	ended := append(x.ends(), stateCancelled, stateTimedOut)
	var rows []machine.Row
	for _, a := range x.allAnswers() {
		states := []machine.State{a.end}
		if a.end == stateFailed {
			states = append(states, stateTimedOut)
		}
		rows = append(rows, answers(states...).When(
			machine.Duplicate(x.opening), machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel),
		).
			Stay(machine.Resend(a.act)).
			Because("the asker has not heard the end; to CANCEL too the true end is the answer"))
	}
	outlived := x.lastWords()
	if x.agree {
		outlived = append(outlived, machine.Command(commandAgree))
	}
	if x.reports {
		outlived = append(outlived, machine.Command(commandReport))
	}
	return concat(rows,
		[]machine.Row{
			answers(stateCancelled).When(machine.Duplicate(performatives.ActCancel), machine.Receive(x.opening)).
				Stay(machine.Resend(performatives.ActInform)).
				Because("the asker has not heard the receipt, or its CANCEL overtook the act"),
			answers(stateFailed, stateTimedOut).When(outlived...).
				Stay(machine.Drop(dropLate)).
				Because("the handler outlived the conversation"),
			answers(ended...).When(machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("there is nothing left to stop"),
		},
		others(machine.Responder, append(x.during(stateAnswering), stateCancelling), ended))
}

// pairs is every way in which an exchange may end.
func (x exchange) pairs() []machine.Pair {
	var pairs []machine.Pair
	for _, end := range append(x.ends(), stateCancelled) {
		pairs = append(pairs,
			machine.Pair{Initiator: end, Responder: end},
			machine.Pair{Initiator: stateTimedOut, Responder: end, Rough: true, Note: "the answer was lost, or came too late"},
			machine.Pair{Initiator: stateAbandoned, Responder: end, Rough: true, Note: gone})
	}
	return append(pairs,
		machine.Pair{Initiator: stateFailed, Responder: stateTimedOut, Rough: true, Note: "the responder's deadline passed first, and its FAILURE says so"},
		machine.Pair{Initiator: stateTimedOut, Responder: stateTimedOut, Rough: true},
		machine.Pair{Initiator: stateAbandoned, Responder: stateTimedOut, Rough: true, Note: "the CANCEL was lost or late"},
		machine.Pair{Initiator: stateTimedOut, Responder: machine.Idle, Rough: true, Note: unknown},
		machine.Pair{Initiator: stateAbandoned, Responder: machine.Idle, Rough: true, Note: unknown},
	)
}
