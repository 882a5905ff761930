package contractnet

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of a contract net that the standard rows do not have.
const (
	stateCalled   machine.State = "called"   // caller: no proposal yet
	stateProposed machine.State = "proposed" // both: there is a proposal without an answer
	stateHeld     machine.State = "held"     // caller: the proposal is kept in reserve; its bidder is still in proposed
	stateAwarded  machine.State = "awarded"  // caller: the proposal was accepted, and there is no result yet
	stateLapsed   machine.State = "lapsed"   // both: the proposal's validity ended without an answer
)

// Commands of a contract net that the standard rows do not have.
const (
	commandAward   = "award"   // caller: accept the proposal
	commandHold    = "hold"    // caller: keep the proposal in reserve for a later decision
	commandRevise  = "revise"  // caller: ask for a better proposal
	commandPropose = "propose" // bidder: bid
)

// Tags of the messages of a contract net.
const (
	tagUnreadable = "unreadable" // a PROPOSE whose content is not a valid Proposal
	tagLapsed     = "lapsed"     // a FAILURE that says that the proposal lapsed
)

// reportProposed is the report of a PROPOSE to the caller.
const reportProposed = "proposed"

// reportLost is the report of a lost proposal to its bidder.
const reportLost = "lost"

// Table returns the table of a caller and one bidder: a call for proposals, a proposal, an
// award and its result (addenda §6). [Coordination] has the rules of a caller and many
// bidders.
func Table() machine.Table {
	return protocol{
		name: "contract-net", title: "Contract net",
		purpose: "One agent calls for proposals to do a task. Each bidder refuses or proposes. The caller accepts " +
			"some of the proposals and rejects the others. A bidder whose proposal was accepted does the task and reports the result.",
		source: "addenda §6; FIPA Contract Net Interaction Protocol (SC00029H)",
	}.table()
}

// IteratedTable is [Table] with further rounds: the caller may answer a proposal by a
// revised call.
func IteratedTable() machine.Table {
	return protocol{
		name: "iterated-contract-net", title: "Iterated contract net",
		purpose: "A contract net in which the caller may answer proposals by a revised call for better ones, " +
			"until it accepts some or rejects all.",
		source:   "addenda §6; FIPA Iterated Contract Net Interaction Protocol (SC00030H)",
		iterated: true,
	}.table()
}

// protocol is one of the two contract nets.
type protocol struct {
	name, title, purpose, source string

	iterated bool // a proposal may be answered by another call
}

func (x protocol) table() machine.Table {
	return standard.All.MustComplete(machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Terminal: []machine.State{standard.StateCompleted, standard.StateRejected, stateLapsed},
		Jobs: []machine.Job{
			{
				Role: machine.Responder, Name: standard.JobConsider, Ends: []string{commandPropose},
				Doc: "the agent decides whether to bid, and how much",
			},
			{
				Role: machine.Responder, Name: standard.JobPerform, Ends: []string{standard.CommandFinish, standard.CommandFail},
				Doc: "the agent does the task that it was awarded",
			},
			standard.ChildrenJob(),
		},
		Timers: timers(),
		Rows: slices.Concat(x.callerCalls(), x.callerDecides(), callerAwaitsResult(), callerCancels(), callerEnded(),
			x.bidderConsiders(), x.bidderProposed(), standard.SettlesIn(performatives.ActCFP, stateProposed), x.bidderEnded()),
		Agree:        pairs(),
		Declarations: x.declarations(),
	})
}

func timers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: machine.TimerDeadline, Doc: "until proposals are due, then until the proposal lapses, then until the result is due"},
		{Role: machine.Initiator, Name: machine.TimerRetry, Doc: "until a CFP, ACCEPT_PROPOSAL or CANCEL without its answer is sent again"},
		{Role: machine.Responder, Name: machine.TimerDeadline, Doc: "until proposals are due, then until the proposal lapses, then until the result is due"},
		{Role: machine.Responder, Name: machine.TimerRetry, Doc: "until a proposal without an answer is sent again"},
	}
}

// pairs are the ends of a caller and one bidder besides those of the standard rows.
func pairs() []machine.Pair {
	rough := func(initiator, responder machine.State, note string, after machine.Cause) machine.Pair {
		return machine.Pair{Initiator: initiator, Responder: responder, After: []machine.Cause{after}, Note: note}
	}
	var (
		callerLate = machine.At(machine.Initiator, machine.Timeout(machine.TimerDeadline))
		bidderLate = machine.At(machine.Responder, machine.Timeout(machine.TimerDeadline))
		bidderGone = machine.At(machine.Responder, machine.Commanded(standard.CommandStop))
	)
	return []machine.Pair{
		rough(stateLapsed, stateLapsed, "", bidderLate),
		rough(standard.StateRejected, stateLapsed, "the proposal lapsed before its rejection arrived", bidderLate),
		rough(standard.StateRejected, standard.StateFailed, "the bidder stopped before the rejection arrived", bidderGone),
		rough(stateLapsed, standard.StateFailed, "the bidder stopped before the proposal lapsed for the caller", callerLate),
		rough(stateLapsed, standard.StateRejected, "the proposal lapsed for the caller first", callerLate),
	}
}

// callerCalls has the rows of a caller without a proposal.
func (x protocol) callerCalls() []machine.Row {
	called := machine.Asks(stateCalled)
	return []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
			Goto(stateCalled, machine.Send(performatives.ActCFP)).
			Because("the agent calls for proposals"),
		called.When(machine.Receive(performatives.ActPropose)).
			Goto(stateProposed, machine.Report(reportProposed), machine.Disarm(machine.TimerRetry), machine.Arm(machine.TimerDeadline)).
			Because("a bid, which binds the bidder until it lapses"),
		called.When(machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)).
			Goto(standard.StateRejected, machine.Send(performatives.ActRejectProposal)).
			Because("an unreadable proposal cannot be decided about"),
	}
}

// callerDecides has the rows of a caller with a proposal.
func (x protocol) callerDecides() []machine.Row {
	decides := machine.Asks(stateProposed, stateHeld)
	rows := []machine.Row{
		decides.When(machine.Commanded(commandAward)).
			Goto(stateAwarded, machine.Send(performatives.ActAcceptProposal), machine.Arm(machine.TimerDeadline), machine.Arm(machine.TimerRetry)).
			Because("the bid wins"),
		decides.When(machine.Commanded(standard.CommandDecline)).
			Goto(standard.StateRejected, machine.Send(performatives.ActRejectProposal)).
			Because("the bid loses, and no longer binds the bidder"),
		machine.Asks(stateProposed).When(machine.Commanded(commandHold)).
			Goto(stateHeld).
			Because("another bid wins, and this one is kept in case that bidder fails"),
		machine.Asks(stateHeld).When(machine.Commanded(commandHold)).
			Goto(stateProposed).
			Because("another bid wins again"),
		decides.When(machine.Timeout(machine.TimerDeadline)).
			Goto(stateLapsed, machine.Send(performatives.ActRejectProposal)).
			Because("the bid was valid until now; the rejection is for a bidder whose clock is slower"),
	}
	if x.iterated {
		rows = append(rows, decides.When(machine.Commanded(commandRevise)).
			Goto(stateCalled, machine.Send(performatives.ActCFP), machine.Arm(machine.TimerDeadline), machine.Arm(machine.TimerRetry)).
			Because("a further round: the same task on other terms (SC00030H)"))
	}
	return rows
}

// callerAwaitsResult has the row of the result, and that of a FAILURE by which the bidder
// says, in any state, that the proposal lapsed.
func callerAwaitsResult() []machine.Row {
	return []machine.Row{
		machine.Asks(stateAwarded).When(machine.Receive(performatives.ActInformResult)).
			Goto(standard.StateCompleted).
			Because("done, whether the answer is yes or no (addenda §2)"),
		machine.Asks(stateCalled, stateProposed, stateHeld, stateAwarded).When(machine.ReceiveTagged(performatives.ActFailure, tagLapsed)).
			Goto(stateLapsed).
			Because("the proposal was lost, or was not answered in time, or the award came too late"),
	}
}

// callerCancels has the rows of a caller between CANCEL and the end.
func callerCancels() []machine.Row {
	return []machine.Row{
		machine.Asks(standard.StateCancelling).When(machine.Receive(performatives.ActInform)).
			Goto(standard.StateCancelled).
			Because("the receipt, also of a peer that does not say which message it answers: the work has ended and no bid binds (addenda §6)"),
	}
}

// callerEnded has the rows of a caller after the end.
func callerEnded() []machine.Row {
	return []machine.Row{
		machine.Asks(standard.StateRejected).When(machine.Duplicate(performatives.ActPropose)).
			Stay(machine.Resend(performatives.ActRejectProposal)).
			Because("the bidder has not received the rejection"),
	}
}

// bidderConsiders has the rows of a bidder up to its proposal, and that of its result.
func (x protocol) bidderConsiders() []machine.Row {
	return []machine.Row{
		machine.Answers(machine.Idle).When(machine.Receive(performatives.ActCFP)).
			Goto(standard.StateConsidering, machine.Run(standard.JobConsider)).
			Because("a call arrives"),
		machine.Answers(standard.StateConsidering).When(machine.Commanded(commandPropose)).
			Goto(stateProposed, machine.Send(performatives.ActPropose), machine.Arm(machine.TimerDeadline), machine.Arm(machine.TimerRetry)).
			Because("the agent bids, and is bound until the proposal lapses"),
		machine.Answers(standard.StateWorking).When(machine.Commanded(standard.CommandFinish)).
			Goto(standard.StateCompleted, machine.Send(performatives.ActInformResult)).
			Because("done, whether the answer is yes or no (addenda §2)"),
	}
}

// bidderProposed has the rows of a bidder that is bound by its proposal.
func (x protocol) bidderProposed() []machine.Row {
	proposed := machine.Answers(stateProposed)
	rows := []machine.Row{
		proposed.When(machine.Receive(performatives.ActAcceptProposal)).
			Goto(standard.StateWorking, machine.Disarm(machine.TimerRetry), machine.Arm(machine.TimerDeadline), machine.Run(standard.JobPerform)).
			Because("the bid has won"),
		proposed.When(machine.Receive(performatives.ActRejectProposal)).
			Goto(standard.StateRejected, machine.Report(reportLost)).
			Because("the bid has lost"),
		proposed.When(machine.Timeout(machine.TimerDeadline)).
			Goto(stateLapsed, machine.SendTagged(performatives.ActFailure, tagLapsed), machine.Report(reportLost)).
			Because("the proposal was valid until now"),
	}
	if x.iterated {
		rows = append(rows, proposed.When(machine.Receive(performatives.ActCFP)).
			Goto(standard.StateConsidering, machine.Disarm(machine.TimerRetry), machine.Arm(machine.TimerDeadline), machine.Run(standard.JobConsider)).
			Because("a revised call: the proposal no longer binds (SC00030H)"))
	}
	return append(rows, machine.Answers(standard.StateSettling).When(append(x.answersToProposal(), machine.Receive(performatives.ActRejectProposal))...).
		Stay(machine.Drop(machine.DropLate)).
		Because("CANCEL overtook it"))
}

// bidderEnded has the rows of a bidder after the end.
func (x protocol) bidderEnded() []machine.Row {
	return []machine.Row{
		machine.Answers(standard.StateCompleted).When(machine.Duplicate(performatives.ActCFP)).
			Stay(machine.Resend(performatives.ActInformResult)).
			Because("the result replaces the proposal"),
		machine.Answers(standard.StateFailed, stateLapsed).When(x.answersToProposal()...).
			Stay(machine.Resend(performatives.ActFailure)).
			Because("the proposal was withdrawn, or lapsed, before it was answered"),
		machine.Answers(stateLapsed).When(machine.Duplicate(performatives.ActAcceptProposal)).
			Stay(machine.Resend(performatives.ActFailure)).
			Because("the caller has not received the failure"),
	}
}

// answersToProposal are the answers to a proposal that expect an answer themselves.
func (x protocol) answersToProposal() []machine.Symbol {
	if x.iterated {
		return []machine.Symbol{machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActCFP)}
	}
	return []machine.Symbol{machine.Receive(performatives.ActAcceptProposal)}
}

// declarations say what the rows are for, besides what the standard rows bring.
func (x protocol) declarations() machine.Declarations {
	owed := func(name string, in ...machine.State) machine.AgentCommand {
		return machine.AgentCommand{Role: machine.Initiator, Name: name, In: in, Kind: machine.CommandOwed}
	}
	d := machine.Declarations{
		Commands: []machine.AgentCommand{
			owed(commandAward, stateProposed, stateHeld), owed(standard.CommandDecline, stateProposed, stateHeld),
			owed(commandHold, stateProposed, stateHeld),
		},
	}
	end := func(role machine.Role, on machine.Symbol, to machine.State, in ...machine.State) {
		d.Ends = append(d.Ends, machine.Ending{Role: role, On: on, To: to, In: in})
	}
	end(machine.Initiator, machine.Receive(performatives.ActInformResult), standard.StateCompleted)
	end(machine.Initiator, machine.ReceiveTagged(performatives.ActFailure, tagLapsed), stateLapsed)
	end(machine.Initiator, machine.ReceiveTagged(performatives.ActPropose, tagUnreadable), standard.StateRejected)
	end(machine.Initiator, machine.Commanded(standard.CommandDecline), standard.StateRejected)
	end(machine.Initiator, machine.Timeout(machine.TimerDeadline), stateLapsed, stateProposed, stateHeld)
	end(machine.Responder, machine.Timeout(machine.TimerDeadline), stateLapsed, stateProposed)
	end(machine.Responder, machine.Commanded(standard.CommandFinish), standard.StateCompleted)
	end(machine.Responder, machine.Receive(performatives.ActRejectProposal), standard.StateRejected)
	d.Renewals = []machine.Renewal{
		{Role: machine.Initiator, Timer: machine.TimerDeadline, On: []machine.Symbol{
			machine.Receive(performatives.ActPropose), machine.Commanded(commandAward), machine.Commanded(commandRevise),
		}},
		{Role: machine.Responder, Timer: machine.TimerDeadline, On: []machine.Symbol{
			machine.Commanded(commandPropose), machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActCFP),
		}},
	}
	d.Exceptions = []machine.Exception{{
		Rule: "wildcard", Role: machine.Initiator, In: []machine.State{stateLapsed}, On: []machine.Symbol{machine.Receive(performatives.ActPropose)},
		Why: "the FAILURE of a proposal that lapsed overtook the proposal, so its bidder has ended",
	}}
	d.Garbled = []machine.Garbled{{Role: machine.Initiator, On: machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)}}
	if x.iterated {
		d.Commands = append(d.Commands, owed(commandRevise, stateProposed, stateHeld))
	}
	return d
}
