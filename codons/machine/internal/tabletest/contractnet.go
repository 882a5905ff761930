package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The states of ContractNet.
const (
	called, considering, proposed, awarded, working, cancelling            machine.State = "called", "considering", "proposed", "awarded", "working", "cancelling"
	completed, refused, notUnderstood, declined, failed, cancelled, lapsed machine.State = "completed", "refused", "not_understood", "declined", "failed", "cancelled", "lapsed"
	abandoned                                                              machine.State = "abandoned"
)

// ContractNet returns the table of one pair of a contract net, which is as large as a
// codon gets: a call and a proposal, an award and its result; retries, deadlines,
// progress, cancellation with a receipt, stops, and the rows of terminal states.
func ContractNet() machine.Table {
	return machine.Table{
		Name: "net", Title: "Contract net", Purpose: "Many are called.", Source: "FIPA Contract Net Interaction Protocol (SC00029H)",
		Live:     []machine.State{called, considering, proposed, awarded, working, cancelling},
		Terminal: []machine.State{completed, refused, notUnderstood, declined, failed, cancelled, lapsed, abandoned},
		Jobs: []machine.Job{
			{Role: machine.Responder, Name: "consider", Ends: []string{"propose", "refuse", "not_understood", "fail"}},
			{Role: machine.Responder, Name: "perform", Says: []string{"report"}, Ends: []string{"finish", "fail"}},
		},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: "deadline"},
			{Role: machine.Initiator, Name: "retry"},
			{Role: machine.Initiator, Name: "grace"},
			{Role: machine.Responder, Name: "deadline"},
			{Role: machine.Responder, Name: "grace"},
		},
		Rows:  append(netInitiator(), netResponder()...),
		Agree: netPairs(),
	}
}

func netInitiator() []machine.Row {
	in := func(s ...machine.State) machine.Row { return machine.For(machine.Initiator, s...) }
	ended := []machine.State{completed, refused, notUnderstood, declined, failed, cancelled, lapsed, abandoned}
	live := []machine.State{called, proposed, awarded, cancelling}
	return []machine.Row{
		in(machine.Idle).When(machine.Commanded("start")).Goto(called, machine.Send(p.ActCFP), machine.Arm("deadline"), machine.Arm("retry")),
		in(called).When(machine.Timeout("retry")).Stay(machine.Resend(p.ActCFP), machine.Arm("retry")),
		in(called).When(machine.Receive(p.ActPropose)).Goto(proposed, machine.Disarm("retry")),
		in(called, cancelling).When(machine.Receive(p.ActRefuse)).Goto(refused),
		in(called, awarded, cancelling).When(machine.Receive(p.ActNotUnderstood)).Goto(notUnderstood),
		in(called, proposed, awarded, cancelling).When(machine.Receive(p.ActFailure)).Goto(failed),
		in(called, proposed, awarded).When(machine.Timeout("deadline")).Goto(lapsed),

		in(proposed).When(machine.Commanded("award")).Goto(awarded, machine.Send(p.ActAcceptProposal), machine.Arm("deadline"), machine.Arm("retry")),
		in(proposed).When(machine.Commanded("decline")).Goto(declined, machine.Send(p.ActRejectProposal)),
		in(awarded).When(machine.Timeout("retry")).Stay(machine.Resend(p.ActAcceptProposal), machine.Arm("retry")),
		in(awarded).When(machine.Receive(p.ActStatusUpdate)).Stay(machine.Disarm("retry"), machine.Report("progress")),
		in(awarded, cancelling).When(machine.Receive(p.ActInformResult)).Goto(completed),

		in(called, proposed, awarded).When(machine.Commanded("cancel")).Goto(cancelling, machine.Send(p.ActCancel), machine.Arm("grace"), machine.Arm("retry")),
		in(called, proposed, awarded).When(machine.Commanded("stop")).Goto(abandoned, machine.Send(p.ActCancel)),
		in(cancelling).When(machine.Receive(p.ActInform)).Goto(cancelled),
		in(cancelling).When(machine.Timeout("retry")).Stay(machine.Resend(p.ActCancel), machine.Arm("retry")),
		in(cancelling).When(machine.Timeout("grace"), machine.Timeout("deadline")).Goto(lapsed),
		in(cancelling).When(machine.Commanded("stop")).Goto(abandoned),
		in(cancelling).When(machine.Commanded("cancel"), machine.Commanded("award"), machine.Commanded("decline")).Stay(machine.Drop("late")),
		in(cancelling).When(machine.Receive(p.ActPropose), machine.Receive(p.ActStatusUpdate)).Stay(machine.Drop("late")),

		in(ended...).When(machine.Commanded("cancel"), machine.Commanded("award"), machine.Commanded("decline"), machine.Commanded("stop")).Stay(machine.Drop("late")),
		in(append(live, ended...)...).When(machine.OtherDuplicates(), machine.OtherNotices()).Stay(machine.Drop("late")),
		in(ended...).When(machine.Receive(p.ActPropose)).Stay(machine.Drop("late")),
	}
}

func netResponder() []machine.Row {
	in := func(s ...machine.State) machine.Row { return machine.For(machine.Responder, s...) }
	live := []machine.State{considering, proposed, working, cancelling}
	ended := []machine.State{completed, refused, notUnderstood, declined, failed, cancelled, lapsed}
	again := func(act p.Performative, s ...machine.State) machine.Row {
		return in(s...).When(machine.Duplicate(p.ActCFP), machine.Duplicate(p.ActAcceptProposal), machine.Receive(p.ActCancel), machine.Duplicate(p.ActCancel)).Stay(machine.Resend(act))
	}
	return []machine.Row{
		in(machine.Idle).When(machine.Receive(p.ActCFP)).Goto(considering, machine.Arm("deadline"), machine.Run("consider")),
		in(machine.Idle).When(machine.Receive(p.ActCancel)).Goto(cancelled, machine.Send(p.ActInform)),
		in(considering).When(machine.Commanded("propose")).Goto(proposed, machine.Send(p.ActPropose)),
		in(considering).When(machine.Commanded("refuse")).Goto(refused, machine.Send(p.ActRefuse)),
		in(considering).When(machine.Commanded("not_understood")).Goto(notUnderstood, machine.Send(p.ActNotUnderstood)),
		in(considering).When(machine.Commanded("fail")).Goto(failed, machine.Send(p.ActFailure)),
		in(considering).When(machine.Receive(p.ActCancel)).Goto(cancelled, machine.Stop("consider"), machine.Send(p.ActInform)),
		in(considering).When(machine.Timeout("deadline")).Goto(lapsed, machine.Stop("consider"), machine.Send(p.ActFailure)),
		in(considering).When(machine.Commanded("stop")).Goto(failed, machine.Stop("consider"), machine.Send(p.ActFailure)),

		in(proposed).When(machine.Receive(p.ActAcceptProposal)).Goto(working, machine.Arm("deadline"), machine.Run("perform")),
		in(proposed).When(machine.Receive(p.ActRejectProposal)).Goto(declined),
		in(proposed).When(machine.Receive(p.ActCancel)).Goto(cancelled, machine.Send(p.ActInform)),
		in(proposed).When(machine.Timeout("deadline")).Goto(lapsed, machine.Send(p.ActFailure)),
		in(proposed).When(machine.Commanded("stop")).Goto(failed, machine.Send(p.ActFailure)),
		in(proposed).When(machine.Duplicate(p.ActCFP)).Stay(machine.Resend(p.ActPropose)),

		in(working).When(machine.Commanded("report")).Stay(machine.Send(p.ActStatusUpdate)),
		in(working).When(machine.Commanded("finish")).Goto(completed, machine.Send(p.ActInformResult)),
		in(working).When(machine.Commanded("fail")).Goto(failed, machine.Send(p.ActFailure)),
		in(working).When(machine.Receive(p.ActCancel)).Goto(cancelling, machine.Stop("perform"), machine.Arm("grace")),
		in(working).When(machine.Timeout("deadline")).Goto(lapsed, machine.Stop("perform"), machine.Send(p.ActFailure)),
		in(working).When(machine.Commanded("stop")).Goto(failed, machine.Stop("perform"), machine.Send(p.ActFailure)),
		in(cancelling).When(machine.Commanded("finish"), machine.Commanded("fail")).Goto(cancelled, machine.Send(p.ActInform)),
		in(cancelling).When(machine.Commanded("report")).Stay(machine.Drop("late")),
		in(cancelling).When(machine.Timeout("grace"), machine.Timeout("deadline"), machine.Commanded("stop")).Goto(failed, machine.Send(p.ActFailure)),

		again(p.ActInformResult, completed),
		again(p.ActRefuse, refused),
		again(p.ActNotUnderstood, notUnderstood),
		again(p.ActFailure, failed, lapsed),
		in(failed, lapsed).When(machine.Receive(p.ActAcceptProposal)).Stay(machine.Resend(p.ActFailure)),
		in(cancelled).When(machine.Duplicate(p.ActCancel), machine.Receive(p.ActAcceptProposal)).Stay(machine.Resend(p.ActInform)),
		in(cancelled).When(machine.Receive(p.ActCFP)).Stay(machine.Refuse(p.CodeCanceled)),
		in(failed, cancelled, lapsed).When(
			machine.Commanded("propose"), machine.Commanded("refuse"), machine.Commanded("not_understood"), machine.Commanded("fail"), machine.Commanded("report"), machine.Commanded("finish"),
		).Stay(machine.Drop("late")),
		in(ended...).When(machine.Commanded("stop")).Stay(machine.Drop("late")),
		in(append(live, ended...)...).When(machine.OtherDuplicates(), machine.OtherNotices()).Stay(machine.Drop("late")),
		in(ended...).When(machine.OtherRequests()).Stay(machine.Refuse(p.CodeConversationEnded)),
	}
}

// netPairs returns the pairs of terminal states. An initiator whose deadline passes, or
// whose agent stops, leaves the responder to its own timers.
func netPairs() []machine.Pair {
	var pairs []machine.Pair
	for _, s := range []machine.State{completed, refused, notUnderstood, declined, failed, cancelled} {
		pairs = append(pairs, machine.Pair{Initiator: s, Responder: s})
	}
	pairs = append(pairs, machine.Pair{Initiator: refused, Responder: cancelled, Note: "CANCEL overtook the call, and the refusal of the call its receipt"})
	late := []machine.Cause{machine.At(machine.Initiator, machine.Timeout("deadline")), machine.At(machine.Initiator, machine.Timeout("grace"))}
	gone := []machine.Cause{machine.At(machine.Initiator, machine.Commanded("stop"))}
	for _, s := range []machine.State{completed, refused, notUnderstood, failed, cancelled, lapsed} {
		pairs = append(pairs, machine.Pair{Initiator: lapsed, Responder: s, After: late}, machine.Pair{Initiator: abandoned, Responder: s, After: gone})
	}
	for _, s := range []machine.State{lapsed, abandoned} {
		pairs = append(pairs, machine.Pair{Initiator: s, Responder: machine.Idle, After: []machine.Cause{machine.Lost()}})
	}
	lapses := []machine.Cause{machine.At(machine.Responder, machine.Timeout("deadline"))}
	return append(
		pairs,
		machine.Pair{Initiator: failed, Responder: lapsed, After: lapses},
		machine.Pair{Initiator: declined, Responder: lapsed, After: lapses},
		machine.Pair{Initiator: declined, Responder: failed, After: []machine.Cause{machine.At(machine.Responder, machine.Commanded("stop"))}},
	)
}
