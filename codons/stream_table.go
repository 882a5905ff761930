package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// stream is a codon in which one act is answered by any number of INFORMs, until
// either side ends it: FIPA's subscribe and request-whenever (addenda §6).
type stream struct {
	name, title, purpose, source string

	opening performatives.Performative
	opened  string // why the conversation is begun
	informs string // when the publisher informs
}

// What only the streams have.
const (
	stateSubscribing machine.State = "subscribing" // initiator: no answer yet
	stateSubscribed  machine.State = "subscribed"  // events may come at any time
	stateLost        machine.State = "lost"        // nothing was heard of the other side any more

	timerSilence = "silence" // initiator: until the publisher, which answers no more, is given up
	timerLease   = "lease"   // responder: the same, of the subscriber

	commandConfirm = "confirm" // initiator: say how far the events have come
	commandPublish = "publish" // responder: there are events to send
	commandClose   = "close"   // responder: there will be no more

	reportEvent     = "event"     // initiator: what an INFORM carries
	reportConfirmed = "confirmed" // responder: how far the events have come
	reportProbed    = "probed"    // responder: the subscriber has asked again
	reportSent      = "sent"      // responder: the event is on its way, or could not be sent
)

// streamEnds are the ways in which the publisher ends a stream.
func streamEnds() []answerAct {
	return []answerAct{
		{commandRefuse, performatives.ActRefuse, stateRefused, "not for this asker, or not now (addenda §6)"},
		{commandNotUnderstood, performatives.ActNotUnderstood, stateNotUnderstood, "it answers any act and ends the conversation (addenda §6)"},
		{commandFail, performatives.ActFailure, stateFailed, "the publisher ends it, with a reason (addenda §6)"},
	}
}

// streamOver are the terminal states of both roles, but for the asker that leaves.
func streamOver() []machine.State {
	return []machine.State{stateRefused, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut, stateLost}
}

func (x stream) table() machine.Table {
	return machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Live:     []machine.State{stateSubscribing, stateConsidering, stateSubscribed, stateCancelling},
		Terminal: append(streamOver(), stateAbandoned),
		Jobs: []machine.Job{{
			Role: machine.Responder, Name: jobConsider,
			Ends: []string{commandAgree, commandRefuse, commandNotUnderstood, commandFail},
			Doc:  "the agent decides whether it informs this subscriber",
		}},
		Timers: streamTimers(),
		Rows: concat(
			x.subscribe(), x.follow(), x.unsubscribe(), x.subscribeEnded(),
			x.consider(), x.publish(), x.publishEnded(),
		),
		Agree: x.pairs(),
	}
}

func streamTimers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: timerDeadline, Doc: "until the opening act's ReplyBy, the lease of the stream; it does not run without one"},
		{Role: machine.Initiator, Name: timerRetry, Doc: "until the opening act or CANCEL is sent again: for want of an answer, or as a heartbeat"},
		{Role: machine.Initiator, Name: timerSilence, Doc: "three heartbeats, after which a publisher that says nothing is given up"},
		{Role: machine.Initiator, Name: timerGrace, Doc: "how long to wait for the end after a CANCEL"},
		{Role: machine.Responder, Name: timerDeadline, Doc: "until the opening act's ReplyBy; it does not run without one"},
		{Role: machine.Responder, Name: timerLease, Doc: "four heartbeats, after which a subscriber that says nothing is given up; it does not run for one that has no heartbeat"},
	}
}

// subscribe is the initiator until it hears of the publisher.
func (x stream) subscribe() []machine.Row {
	return []machine.Row{
		asks(machine.Idle).When(machine.Command(commandStart)).
			Goto(stateSubscribing, machine.Send(x.opening), machine.Arm(timerDeadline), machine.Arm(timerRetry), machine.Arm(timerSilence)).
			Because(x.opened),
		asks(stateSubscribing).When(machine.Receive(performatives.ActAgree)).
			Goto(stateSubscribed, machine.Arm(timerSilence), machine.Arm(timerRetry), machine.Report(reportAgreed)).
			Because("the publisher will inform; agree may be skipped, lost or overtaken (addenda §6)"),
		asks(stateSubscribing).When(machine.Receive(performatives.ActInform)).
			Goto(stateSubscribed, machine.Arm(timerSilence), machine.Arm(timerRetry), machine.Report(reportEvent)).
			Because("an event implies the AGREE that it overtook, or that was lost or left out"),
	}
}

// follow is the initiator that is subscribed, and what it does before and then alike.
func (x stream) follow() []machine.Row {
	subscribed, both := asks(stateSubscribed), asks(stateSubscribing, stateSubscribed)
	rows := []machine.Row{
		subscribed.When(machine.Receive(performatives.ActInform)).
			Stay(machine.Arm(timerSilence), machine.Report(reportEvent)).
			Because(x.informs),
		subscribed.When(machine.Receive(performatives.ActAgree)).
			Stay(machine.Arm(timerSilence), machine.Report(reportAgreed)).
			Because("an event overtook it, or the publisher had forgotten and has begun anew"),
		subscribed.When(machine.Duplicate(performatives.ActAgree)).
			Stay(machine.Arm(timerSilence)).
			Because("the publisher lives: it answers the heartbeat"),
		subscribed.When(machine.Command(commandConfirm)).
			Stay(machine.Send(performatives.ActConfirm)).
			Because("the publisher sends no more than was asked for before it hears that some has come"),
		both.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(x.opening), machine.Arm(timerRetry)).
			Because("for want of an answer, or as a heartbeat: a publisher that knows it agrees again, one that has forgotten opens it anew"),
		both.When(machine.Timeout(timerSilence)).
			Goto(stateLost, machine.Send(performatives.ActCancel)).
			Because("the publisher is gone, or unreachable; should it still inform, it need not"),
		both.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("the lease is over; the publisher keeps the same and stops by itself"),
		both.When(machine.Command(commandCancel)).
			Goto(stateCancelling, machine.Send(performatives.ActCancel), machine.Disarm(timerSilence), machine.Arm(timerGrace), machine.Arm(timerRetry)).
			Because("no more events are wanted; the receipt says that none will come"),
		both.When(machine.Command(commandStop)).
			Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
			Because("nobody is left to be informed"),
		asks(stateSubscribing, stateCancelling).When(machine.Command(commandConfirm)).
			Stay(machine.Drop(dropLate)).
			Because("there is nothing to keep going"),
	}
	for _, a := range streamEnds() {
		rows = append(rows, both.When(machine.Receive(a.act)).Goto(a.end).Because(a.why))
	}
	return rows
}

// unsubscribe is the initiator between CANCEL and the end.
func (x stream) unsubscribe() []machine.Row {
	cancelling := asks(stateCancelling)
	rows := []machine.Row{
		cancelling.When(machine.ReceiveTagged(performatives.ActInform, tagReceipt)).
			Goto(stateCancelled).
			Because("the receipt: no event will follow (addenda §6)"),
		cancelling.When(machine.Receive(performatives.ActInform)).
			Stay(machine.Report(reportEvent)).
			Because("it was on its way when CANCEL was"),
		cancelling.When(machine.Receive(performatives.ActAgree), machine.Duplicate(performatives.ActAgree)).
			Stay(machine.Drop(dropLate)).
			Because("it says nothing about the end"),
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
	for _, a := range streamEnds() {
		rows = append(rows, cancelling.When(machine.Receive(a.act)).Goto(a.end).
			Because("the publisher ended it first"))
	}
	return rows
}

// subscribeEnded is the initiator's afterlife, and what it does with everything that
// no other row names.
func (x stream) subscribeEnded() []machine.Row {
	ended := append(streamOver(), stateAbandoned)
	return concat(
		[]machine.Row{
			asks(ended...).When(machine.Command(commandCancel), machine.Command(commandStop), machine.Command(commandConfirm)).
				Stay(machine.Drop(dropLate)).
				Because("the end came first"),
		},
		others(machine.Initiator, []machine.State{stateSubscribing, stateSubscribed, stateCancelling}, ended),
	)
}

// consider is the responder until it has agreed.
func (x stream) consider() []machine.Row {
	idle, considering := answers(machine.Idle), answers(stateConsidering)
	rows := []machine.Row{
		idle.When(machine.Receive(x.opening)).
			Goto(stateConsidering, machine.Arm(timerDeadline), machine.Arm(timerLease), machine.Run(jobConsider)).
			Because("the agent decides"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook what it withdraws, or that was lost"),
		considering.When(machine.Command(commandAgree)).
			Goto(stateSubscribed, machine.Send(performatives.ActAgree)).
			Because("from here on the subscriber is informed"),
		considering.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.Stop(jobConsider), machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("nothing was begun, so nothing has to stop first"),
		considering.When(machine.Timeout(timerDeadline), machine.Timeout(timerLease)).
			Goto(stateTimedOut, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent did not decide in time"),
		considering.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the subscriber need not wait to find out"),
		considering.When(machine.Duplicate(x.opening)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the answer is on its way"),
	}
	for _, a := range streamEnds() {
		rows = append(rows, considering.When(machine.Command(a.command)).Goto(a.end, machine.Send(a.act)).Because(a.why))
	}
	return rows
}

// publish is the responder that informs.
func (x stream) publish() []machine.Row {
	subscribed := answers(stateSubscribed)
	return []machine.Row{
		subscribed.When(machine.Command(commandPublish)).
			Stay(machine.Send(performatives.ActInform), machine.Report(reportSent)).
			Because(x.informs),
		subscribed.When(machine.Command(commandClose)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("there will be no more events: the publisher ends it, and says why (addenda §6)"),
		subscribed.When(machine.Receive(performatives.ActConfirm)).
			Stay(machine.Arm(timerLease), machine.Report(reportConfirmed)).
			Because("the subscriber has room for more"),
		subscribed.When(machine.Duplicate(x.opening)).
			Stay(machine.Resend(performatives.ActAgree), machine.Arm(timerLease), machine.Report(reportProbed)).
			Because("a heartbeat, or the AGREE was lost"),
		subscribed.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("no event follows the receipt, and no handler runs that would have to stop first"),
		subscribed.When(machine.Timeout(timerLease)).
			Goto(stateLost, machine.Send(performatives.ActFailure)).
			Because("the subscriber is gone, or unreachable"),
		subscribed.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Send(performatives.ActFailure)).
			Because("the lease is over"),
		subscribed.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops, and its subscriptions with it"),
	}
}

// publishEnded is the responder's afterlife, and what it does with everything that
// no other row names.
func (x stream) publishEnded() []machine.Row {
	var rows []machine.Row
	outlived := []machine.Symbol{machine.Command(commandAgree)}
	for _, a := range streamEnds() {
		states := []machine.State{a.end}
		if a.end == stateFailed {
			states = append(states, stateTimedOut, stateLost)
		}
		outlived = append(outlived, machine.Command(a.command))
		rows = append(rows, answers(states...).When(
			machine.Duplicate(x.opening), machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel),
		).
			Stay(machine.Resend(a.act)).
			Because("the subscriber has not heard the end; to CANCEL too the true end is the answer"))
	}
	return concat(rows,
		[]machine.Row{
			answers(stateCancelled).When(machine.Duplicate(performatives.ActCancel), machine.Receive(x.opening)).
				Stay(machine.Resend(performatives.ActInform)).
				Because("the subscriber has not heard the receipt, or its CANCEL overtook the act"),
			answers(stateFailed, stateTimedOut, stateCancelled).When(outlived...).
				Stay(machine.Drop(dropLate)).
				Because("the decision comes after the end"),
			answers(streamOver()...).When(machine.Command(commandPublish), machine.Command(commandClose), machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("the end came first"),
		},
		others(machine.Responder, []machine.State{stateConsidering, stateSubscribed}, streamOver()))
}

// pairs is every way in which a stream may end.
func (x stream) pairs() []machine.Pair {
	said := []machine.State{stateRefused, stateNotUnderstood, stateFailed, stateCancelled}
	pairs := []machine.Pair{
		{Initiator: stateFailed, Responder: stateTimedOut, Rough: true, Note: "the publisher's deadline passed first, and its FAILURE says so"},
		{Initiator: stateFailed, Responder: stateLost, Rough: true, Note: "the publisher had given the subscriber up, and its FAILURE says so"},
	}
	for _, end := range said {
		pairs = append(pairs, machine.Pair{Initiator: end, Responder: end})
	}
	for _, end := range append(said, stateTimedOut, stateLost) {
		pairs = append(pairs,
			machine.Pair{Initiator: stateTimedOut, Responder: end, Rough: true, Note: "the lease ended, or the answer to CANCEL was lost"},
			machine.Pair{Initiator: stateLost, Responder: end, Rough: true, Note: "the network was silent for too long"},
			machine.Pair{Initiator: stateAbandoned, Responder: end, Rough: true, Note: gone})
	}
	for _, end := range []machine.State{stateTimedOut, stateLost, stateAbandoned} {
		pairs = append(pairs, machine.Pair{Initiator: end, Responder: machine.Idle, Rough: true, Note: unknown})
	}
	return pairs
}
