package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// WhisperTable returns the codon of capability discovery, the Whispering Wind
// (acl §4.8, §4.9 and §9, addenda §3). Asking many is many such conversations;
// whoever has not answered by the deadline is no candidate.
func WhisperTable() machine.Table {
	return machine.Table{
		Name:  "whispering-wind",
		Title: "Whispering Wind",
		Purpose: "One agent asks another what it can do: a summary, whether it has certain capabilities, " +
			"or the details of one action.",
		Source: "acl §4.8, §4.9 and §9; addenda §3 and §6; FIPA Query Interaction Protocol (SC00027H)",
		Live:   []machine.State{stateAsked, stateAnswering},
		Terminal: []machine.State{
			stateAnswered, stateRefused, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut, stateAbandoned,
		},
		Jobs: []machine.Job{{
			Role: machine.Responder, Name: jobAnswer,
			Ends: []string{commandAnswer, commandRefuse, commandNotUnderstood, commandFail},
			Doc:  "the agent describes itself",
		}},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: timerDeadline, Doc: "until the query's ReplyBy"},
			{Role: machine.Initiator, Name: timerRetry, Doc: "until a query without an answer is sent again"},
			{Role: machine.Responder, Name: timerDeadline, Doc: "until the query's ReplyBy, or the agent's own limit when it has none"},
		},
		Rows:  concat(whisperAsk(), whisperAnswer(), whisperEnded()),
		Agree: whisperPairs(),
	}
}

// whisperAsk is the initiator.
func whisperAsk() []machine.Row {
	asked := asks(stateAsked)
	ended := []machine.State{
		stateAnswered, stateRefused, stateNotUnderstood, stateFailed, stateTimedOut, stateAbandoned,
	}
	return concat(
		[]machine.Row{
			asks(machine.Idle).When(machine.Command(commandStart)).
				Goto(stateAsked, machine.Send(performatives.ActQueryCapabilities), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
				Because("the agent looks for help"),
			asked.When(machine.Timeout(timerRetry)).
				Stay(machine.Resend(performatives.ActQueryCapabilities), machine.Arm(timerRetry)).
				Because("the query or its answer was lost"),
			asked.When(machine.Receive(performatives.ActInformCapabilities)).
				Goto(stateAnswered).
				Because("also where nothing matches: that is an answer"),
			asked.When(machine.Receive(performatives.ActFailure)).
				Goto(stateFailed).
				Because("an unknown action, or an error (addenda §3)"),
			asked.When(machine.Receive(performatives.ActRefuse)).
				Goto(stateRefused).
				Because("not for this asker, or not now (addenda §6)"),
			asked.When(machine.Receive(performatives.ActNotUnderstood)).
				Goto(stateNotUnderstood).
				Because("a query_type that the agent does not know (addenda §3)"),
			asked.When(machine.Timeout(timerDeadline)).
				Goto(stateTimedOut).
				Because("whoever does not answer in time is no candidate (addenda §3)"),
			asked.When(machine.Command(commandCancel), machine.Command(commandStop)).
				Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
				Because("nobody waits for the receipt of a withdrawn question"),
			asks(stateAbandoned).When(machine.Receive(performatives.ActInform)).
				Stay(machine.Drop(dropLate)).
				Because("the receipt"),
			asks(ended...).When(machine.Command(commandCancel), machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("the end came first"),
		},
		others(machine.Initiator, []machine.State{stateAsked}, ended),
	)
}

// whisperAnswer is the responder.
func whisperAnswer() []machine.Row {
	idle, answering := answers(machine.Idle), answers(stateAnswering)
	return []machine.Row{
		idle.When(machine.Receive(performatives.ActQueryCapabilities)).
			Goto(stateAnswering, machine.Arm(timerDeadline), machine.Run(jobAnswer)).
			Because("a query arrives"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook its query, or the query was lost"),
		answering.When(machine.Command(commandAnswer)).
			Goto(stateAnswered, machine.Send(performatives.ActInformCapabilities)).
			Because("acl §4.9"),
		answering.When(machine.Command(commandRefuse)).
			Goto(stateRefused, machine.Send(performatives.ActRefuse)).
			Because("not for this asker, or not now (addenda §6)"),
		answering.When(machine.Command(commandNotUnderstood)).
			Goto(stateNotUnderstood, machine.Send(performatives.ActNotUnderstood)).
			Because("a query_type that the agent does not know (addenda §3)"),
		answering.When(machine.Command(commandFail)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("an unknown action (addenda §3), or an error"),
		answering.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.Stop(jobAnswer), machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("a query has no effects that would have to stop first"),
		answering.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobAnswer), machine.Send(performatives.ActFailure)).
			Because("nobody waits for the answer any more"),
		answering.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobAnswer), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the asker need not wait for its deadline"),
		answering.When(machine.Duplicate(performatives.ActQueryCapabilities)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the answer is on its way"),
	}
}

// whisperEnded is the responder's afterlife, and what it does with everything
// that no other row names.
func whisperEnded() []machine.Row {
	ended := []machine.State{
		stateAnswered, stateRefused, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut,
	}
	again := func(act performatives.Performative, states ...machine.State) machine.Row {
		return answers(states...).When(
			machine.Duplicate(performatives.ActQueryCapabilities), machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel),
		).
			Stay(machine.Resend(act)).
			Because("the asker has not heard the end")
	}
	return concat(
		[]machine.Row{
			again(performatives.ActInformCapabilities, stateAnswered),
			again(performatives.ActRefuse, stateRefused),
			again(performatives.ActNotUnderstood, stateNotUnderstood),
			again(performatives.ActFailure, stateFailed, stateTimedOut),
			answers(stateCancelled).When(machine.Duplicate(performatives.ActCancel), machine.Receive(performatives.ActQueryCapabilities)).
				Stay(machine.Resend(performatives.ActInform)).
				Because("the asker has not heard the receipt, or its CANCEL overtook the query"),
			answers(stateFailed, stateCancelled, stateTimedOut).When(
				machine.Command(commandAnswer), machine.Command(commandRefuse), machine.Command(commandNotUnderstood), machine.Command(commandFail),
			).
				Stay(machine.Drop(dropLate)).
				Because("the agent found its answer after the end"),
			answers(ended...).When(machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("there is nothing left to stop"),
		},
		others(machine.Responder, []machine.State{stateAnswering}, ended),
	)
}

// whisperPairs is every way in which a query may end.
func whisperPairs() []machine.Pair {
	pairs := []machine.Pair{
		{Initiator: stateAnswered, Responder: stateAnswered},
		{Initiator: stateRefused, Responder: stateRefused},
		{Initiator: stateNotUnderstood, Responder: stateNotUnderstood},
		{Initiator: stateFailed, Responder: stateFailed},
		{Initiator: stateFailed, Responder: stateTimedOut, Rough: true, Note: "the responder's deadline passed first, and its FAILURE says so"},

		{Initiator: stateTimedOut, Responder: stateTimedOut, Rough: true},
		{Initiator: stateAbandoned, Responder: stateTimedOut, Rough: true, Note: "the CANCEL was lost or late"},
		{Initiator: stateAbandoned, Responder: stateCancelled, Note: "the CANCEL arrived"},
		{Initiator: stateTimedOut, Responder: machine.Idle, Rough: true, Note: unknown},
		{Initiator: stateAbandoned, Responder: machine.Idle, Rough: true, Note: unknown},
	}
	for _, end := range []machine.State{stateAnswered, stateRefused, stateNotUnderstood, stateFailed} {
		pairs = append(pairs,
			machine.Pair{Initiator: stateTimedOut, Responder: end, Rough: true, Note: "the answer was lost, or came too late"},
			machine.Pair{Initiator: stateAbandoned, Responder: end, Note: gone})
	}
	return pairs
}
