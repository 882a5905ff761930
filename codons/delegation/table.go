package delegation

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of [Table] besides those of package codons.
const (
	StateInputGiven machine.State = "input_given" // initiator: it has sent the request of a further round and has no answer yet
	StateDeclining  machine.State = "declining"   // initiator: the partial result is final, and the CANCEL has no answer yet
	StateAwaiting   machine.State = "awaiting"    // responder: the handler has asked for input and waits for it
)

const (
	commandAsk   = "ask"    // responder: send a partial result with a question; the handler waits for the answer
	reportAnswer = "answer" // to the waiting handler: the request of the further round has arrived
)

// Table returns the table of the codon: request, acceptance, progress, result and further
// rounds (acl §4, addenda §2, §3 and §6).
func Table() machine.Table {
	return standard.All.MustComplete(machine.Table{
		Name:  "task-delegation",
		Title: "Task delegation",
		Purpose: "One agent asks another to carry out a task. The worker accepts or rejects it, " +
			"reports progress, and ends with a result, a failure, or a partial result that asks for more input.",
		Source:   "acl §4 and §7; addenda §2, §3 and §6; FIPA Request Interaction Protocol (SC00026H)",
		Terminal: []machine.State{standard.StateCompleted, standard.StateRejected},
		Jobs: []machine.Job{
			{
				Role: machine.Responder, Name: standard.JobConsider,
				Ends: []string{standard.CommandAccept, standard.CommandReject, standard.CommandNotUnderstood, standard.CommandFail},
				Doc:  "the agent decides whether to take the task on", ReceiptNeedNotWait: true,
			},
			{
				Role: machine.Responder, Name: standard.JobPerform,
				Says: []string{standard.CommandReport, commandAsk},
				Ends: []string{standard.CommandFinish, CommandNeedInput, standard.CommandFail},
				Doc:  "the agent's handler does the work",
			},
			standard.ChildrenJob(),
		},
		Timers: []machine.Timer{
			{Role: machine.Responder, Name: machine.TimerDeadline, Doc: "until the ReplyBy of the latest request, or the agent's own limit when the request has none"},
		},
		Rows: slices.Concat(
			initiatorRequest(), initiatorResult(), initiatorInput(), initiatorDecline(), initiatorCancel(),
			responderConsider(), standard.SettlesIn(performatives.ActTaskRequest, StateInputNeeded), responderWork(), responderAwait(),
		),
		Agree:        pairs(),
		Declarations: declarations(),
	})
}

// pairs returns the pairs of terminal states that a delegation may end in, besides those of
// the standard rows.
func pairs() []machine.Pair {
	partial := func(responder machine.State, note string, after ...machine.Cause) machine.Pair {
		return machine.Pair{Initiator: standard.StateCompleted, Responder: responder, After: after, Note: "the partial result is final: " + note}
	}
	return []machine.Pair{
		{Initiator: standard.StateCompleted, Responder: standard.StateCompleted},
		partial(standard.StateCancelled, "the initiator declined the further round, or its CANCEL crossed with the result"),
		partial(standard.StateFailed, "the worker failed or stopped before a further round"),
		partial(standard.StateRejected, "the worker rejected a further round"),
		partial(standard.StateNotUnderstood, "the worker did not understand a further round"),
		partial(standard.StateTimedOut, "the worker's deadline passed before a further round", machine.At(machine.Responder, machine.Timeout(machine.TimerDeadline))),
	}
}

// States of a delegation that other codons do not have.
const (
	StateRequested   machine.State = "requested"    // initiator: the task was sent and has no answer yet
	StateInputNeeded machine.State = "input_needed" // a partial result asks for more input
)

// CommandNeedInput sends a partial result and a request for more input. It is a command of
// the responder.
const CommandNeedInput = "need_input"

// TagInput marks an INFORM_RESULT that asks for input: task_status
// partial_success with result_details.request_for_user (addenda §3).
const TagInput = "input"

// Reports of a delegation to its initiator.
const (
	ReportAccepted = "accepted" // the payload of a TASK_ACCEPT
	ReportInput    = "input"    // the partial result, with the input that the worker needs
)

// declarations say what the rows are for, besides what the standard rows bring.
func declarations() machine.Declarations {
	return machine.Declarations{
		Commands: []machine.AgentCommand{
			{Role: machine.Initiator, Name: standard.CommandAnswer, In: []machine.State{StateInputNeeded}, Kind: machine.CommandOwed},
			{Role: machine.Initiator, Name: standard.CommandDecline, In: []machine.State{StateInputNeeded}, Kind: machine.CommandOwed},
		},
		Ends: []machine.Ending{
			{Role: machine.Initiator, On: machine.Receive(performatives.ActInformResult), To: standard.StateCompleted},
			{Role: machine.Initiator, On: machine.Receive(performatives.ActTaskReject), To: standard.StateRejected},
			{Role: machine.Responder, On: machine.Commanded(standard.CommandFinish), To: standard.StateCompleted},
			{Role: machine.Responder, On: machine.Commanded(standard.CommandReject), To: standard.StateRejected},
			partial(machine.Receive(performatives.ActTaskReject), StateInputGiven),
			partial(machine.Receive(performatives.ActNotUnderstood), StateInputGiven, StateDeclining),
			partial(machine.Receive(performatives.ActFailure), StateInputGiven, StateInputNeeded, StateDeclining),
			partial(machine.Timeout(machine.TimerDeadline), StateInputGiven, StateInputNeeded, StateDeclining),
			partial(machine.Commanded(standard.CommandMisread), StateInputGiven, StateInputNeeded, StateDeclining),
			partial(machine.Timeout(machine.TimerGrace), StateDeclining),
			partial(machine.Commanded(standard.CommandStop), StateDeclining),
		},
		Renewals: []machine.Renewal{
			{
				Role: machine.Initiator, Timer: machine.TimerRetry, In: []machine.State{StateRequested, StateInputGiven},
				On: []machine.Symbol{machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate)},
			},
			{
				Role: machine.Responder, Timer: machine.TimerDeadline, In: []machine.State{StateInputNeeded, StateAwaiting},
				On: []machine.Symbol{machine.Receive(performatives.ActTaskRequest)},
			},
		},
	}
}

// partial is the end of an initiator whose partial result is final.
func partial(on machine.Symbol, in ...machine.State) machine.Ending {
	return machine.Ending{Role: machine.Initiator, In: in, On: on, To: standard.StateCompleted}
}
