package machine

import p "github.com/ribosome-agents/ribosome/performatives"

// The states of contractNet.
const (
	called, considering, proposed, awarded, working, cancelling            State = "called", "considering", "proposed", "awarded", "working", "cancelling"
	completed, refused, notUnderstood, declined, failed, cancelled, lapsed State = "completed", "refused", "not_understood", "declined", "failed", "cancelled", "lapsed"
	abandoned                                                              State = "abandoned"
)

// contractNet is one pair of a contract net, as large as a codon gets: a call
// and a proposal, an award and its result; retries, deadlines, progress,
// cancellation with a receipt, stops, and the afterlife of both sides.
func contractNet() Table {
	return Table{
		Name: "net", Title: "Contract net", Purpose: "Many are called.", Source: "FIPA Contract Net Interaction Protocol (SC00029H)",
		Live:     []State{called, considering, proposed, awarded, working, cancelling},
		Terminal: []State{completed, refused, notUnderstood, declined, failed, cancelled, lapsed, abandoned},
		Jobs: []Job{
			{Role: Responder, Name: "consider", Ends: []string{"propose", "refuse", "not_understood", "fail"}},
			{Role: Responder, Name: "perform", Says: []string{"report"}, Ends: []string{"finish", "fail"}},
		},
		Timers: []Timer{
			{Role: Initiator, Name: "deadline"},
			{Role: Initiator, Name: "retry"},
			{Role: Initiator, Name: "grace"},
			{Role: Responder, Name: "deadline"},
			{Role: Responder, Name: "grace"},
		},
		Rows:  append(netInitiator(), netResponder()...),
		Agree: netPairs(),
	}
}

func netInitiator() []Row {
	in := func(s ...State) Row { return For(Initiator, s...) }
	ended := []State{completed, refused, notUnderstood, declined, failed, cancelled, lapsed, abandoned}
	live := []State{called, proposed, awarded, cancelling}
	return []Row{
		in(Idle).When(Command("start")).Goto(called, Send(p.ActCFP), Arm("deadline"), Arm("retry")),
		in(called).When(Timeout("retry")).Stay(Resend(p.ActCFP), Arm("retry")),
		in(called).When(Receive(p.ActPropose)).Goto(proposed, Disarm("retry")),
		in(called, cancelling).When(Receive(p.ActRefuse)).Goto(refused),
		in(called, awarded, cancelling).When(Receive(p.ActNotUnderstood)).Goto(notUnderstood),
		in(called, proposed, awarded, cancelling).When(Receive(p.ActFailure)).Goto(failed),
		in(called, proposed, awarded).When(Timeout("deadline")).Goto(lapsed),

		in(proposed).When(Command("award")).Goto(awarded, Send(p.ActAcceptProposal), Arm("deadline"), Arm("retry")),
		in(proposed).When(Command("decline")).Goto(declined, Send(p.ActRejectProposal)),
		in(awarded).When(Timeout("retry")).Stay(Resend(p.ActAcceptProposal), Arm("retry")),
		in(awarded).When(Receive(p.ActStatusUpdate)).Stay(Disarm("retry"), Report("progress")),
		in(awarded, cancelling).When(Receive(p.ActInformResult)).Goto(completed),

		in(called, proposed, awarded).When(Command("cancel")).Goto(cancelling, Send(p.ActCancel), Arm("grace"), Arm("retry")),
		in(called, proposed, awarded).When(Command("stop")).Goto(abandoned, Send(p.ActCancel)),
		in(cancelling).When(Receive(p.ActInform)).Goto(cancelled),
		in(cancelling).When(Timeout("retry")).Stay(Resend(p.ActCancel), Arm("retry")),
		in(cancelling).When(Timeout("grace"), Timeout("deadline")).Goto(lapsed),
		in(cancelling).When(Command("stop")).Goto(abandoned),
		in(cancelling).When(Command("cancel"), Command("award"), Command("decline")).Stay(Drop("late")),
		in(cancelling).When(Receive(p.ActPropose), Receive(p.ActStatusUpdate)).Stay(Drop("late")),

		in(ended...).When(Command("cancel"), Command("award"), Command("decline"), Command("stop")).Stay(Drop("late")),
		in(append(live, ended...)...).When(OtherDuplicates(), OtherNotices()).Stay(Drop("late")),
		in(ended...).When(Receive(p.ActPropose)).Stay(Drop("late")),
	}
}

func netResponder() []Row {
	in := func(s ...State) Row { return For(Responder, s...) }
	live := []State{considering, proposed, working, cancelling}
	ended := []State{completed, refused, notUnderstood, declined, failed, cancelled, lapsed}
	again := func(act p.Performative, s ...State) Row {
		return in(s...).When(Duplicate(p.ActCFP), Duplicate(p.ActAcceptProposal), Receive(p.ActCancel), Duplicate(p.ActCancel)).Stay(Resend(act))
	}
	return []Row{
		in(Idle).When(Receive(p.ActCFP)).Goto(considering, Arm("deadline"), Run("consider")),
		in(Idle).When(Receive(p.ActCancel)).Goto(cancelled, Send(p.ActInform)),
		in(considering).When(Command("propose")).Goto(proposed, Send(p.ActPropose)),
		in(considering).When(Command("refuse")).Goto(refused, Send(p.ActRefuse)),
		in(considering).When(Command("not_understood")).Goto(notUnderstood, Send(p.ActNotUnderstood)),
		in(considering).When(Command("fail")).Goto(failed, Send(p.ActFailure)),
		in(considering).When(Receive(p.ActCancel)).Goto(cancelled, Stop("consider"), Send(p.ActInform)),
		in(considering).When(Timeout("deadline")).Goto(lapsed, Stop("consider"), Send(p.ActFailure)),
		in(considering).When(Command("stop")).Goto(failed, Stop("consider"), Send(p.ActFailure)),

		in(proposed).When(Receive(p.ActAcceptProposal)).Goto(working, Arm("deadline"), Run("perform")),
		in(proposed).When(Receive(p.ActRejectProposal)).Goto(declined),
		in(proposed).When(Receive(p.ActCancel)).Goto(cancelled, Send(p.ActInform)),
		in(proposed).When(Timeout("deadline")).Goto(lapsed, Send(p.ActFailure)),
		in(proposed).When(Command("stop")).Goto(failed, Send(p.ActFailure)),
		in(proposed).When(Duplicate(p.ActCFP)).Stay(Resend(p.ActPropose)),

		in(working).When(Command("report")).Stay(Send(p.ActStatusUpdate)),
		in(working).When(Command("finish")).Goto(completed, Send(p.ActInformResult)),
		in(working).When(Command("fail")).Goto(failed, Send(p.ActFailure)),
		in(working).When(Receive(p.ActCancel)).Goto(cancelling, Stop("perform"), Arm("grace")),
		in(working).When(Timeout("deadline")).Goto(lapsed, Stop("perform"), Send(p.ActFailure)),
		in(working).When(Command("stop")).Goto(failed, Stop("perform"), Send(p.ActFailure)),
		in(cancelling).When(Command("finish"), Command("fail")).Goto(cancelled, Send(p.ActInform)),
		in(cancelling).When(Command("report")).Stay(Drop("late")),
		in(cancelling).When(Timeout("grace"), Timeout("deadline"), Command("stop")).Goto(failed, Send(p.ActFailure)),

		again(p.ActInformResult, completed),
		again(p.ActRefuse, refused),
		again(p.ActNotUnderstood, notUnderstood),
		again(p.ActFailure, failed, lapsed),
		in(failed, lapsed).When(Receive(p.ActAcceptProposal)).Stay(Resend(p.ActFailure)),
		in(cancelled).When(Duplicate(p.ActCancel), Receive(p.ActAcceptProposal)).Stay(Resend(p.ActInform)),
		in(cancelled).When(Receive(p.ActCFP)).Stay(Refuse(p.CodeCanceled)),
		in(failed, cancelled, lapsed).When(
			Command("propose"), Command("refuse"), Command("not_understood"), Command("fail"), Command("report"), Command("finish"),
		).Stay(Drop("late")),
		in(ended...).When(Command("stop")).Stay(Drop("late")),
		in(append(live, ended...)...).When(OtherDuplicates(), OtherNotices()).Stay(Drop("late")),
		in(ended...).When(OtherRequests()).Stay(Refuse(p.CodeConversationEnded)),
	}
}

// netPairs is every way in which a pair may end. An initiator whose time is up,
// or whose agent stops, leaves the responder to its own clock.
func netPairs() []Pair {
	var pairs []Pair
	for _, s := range []State{completed, refused, notUnderstood, declined, failed, cancelled} {
		pairs = append(pairs, Pair{Initiator: s, Responder: s})
	}
	pairs = append(pairs, Pair{Initiator: refused, Responder: cancelled, Note: "CANCEL overtook the call, and the refusal of the call its receipt"})
	for _, s := range []State{completed, refused, notUnderstood, failed, cancelled, lapsed, Idle} {
		pairs = append(pairs, Pair{Initiator: lapsed, Responder: s, Rough: true}, Pair{Initiator: abandoned, Responder: s, Rough: true})
	}
	return append(
		pairs,
		Pair{Initiator: failed, Responder: lapsed, Rough: true},
		Pair{Initiator: declined, Responder: lapsed, Rough: true},
		Pair{Initiator: declined, Responder: failed, Rough: true},
	)
}
