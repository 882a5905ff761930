package discovery

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// States of [FindTable].
const (
	stateSearching   machine.State = "searching"   // the agents are searched for
	stateChoosing    machine.State = "choosing"    // the next agent is chosen
	stateAsking      machine.State = "asking"      // an agent has its share of the time to accept the task
	stateTrying      machine.State = "trying"      // an agent has its share of the time to perform a task that is safe to repeat
	stateWaiting     machine.State = "waiting"     // an agent has all the time to accept and perform the task
	statePerforming  machine.State = "performing"  // the agent has accepted the task
	stateWithdrawing machine.State = "withdrawing" // the share is over, and the end of the agent's conversation is awaited
	stateStopping    machine.State = "stopping"    // no further agent is asked, and the end of the conversation is awaited
	stateUnperformed machine.State = "unperformed" // no agent performed the task, or one may have failed in the middle of it
	stateImpossible  machine.State = "impossible"  // the search failed, or a delegation cannot begin
)

// Jobs and the timer of [FindTable].
const (
	jobSearch   = "search"
	jobChoose   = "choose"
	jobDelegate = "delegate"

	timerShare = "share"
)

// Commands of [FindTable]. The job [jobDelegate] ends with the name of the end state of the
// conversation.
const (
	commandSearch     = "search"     // begin with the search
	commandFound      = "found"      // the search has ended
	commandAsk        = "ask"        // there is a next agent, which has a share of the time to accept
	commandTry        = "try"        // the same, and the share is for the whole task
	commandWait       = "wait"       // the same, without a share
	commandNone       = "none"       // there is no further agent
	commandAccepted   = "accepted"   // the agent has accepted the task, or reports progress
	commandImpossible = "impossible" // the job could not be done
)

// ended returns the last command of [jobDelegate] for the end states of a conversation.
func ended(in ...machine.State) []machine.Symbol {
	on := make([]machine.Symbol, len(in))
	for i, s := range in {
		on[i] = machine.Commanded(string(s))
	}
	return on
}

// The end states of the conversation with one agent, by their meaning.
var (
	notBegun  = []machine.State{standard.StateRejected, standard.StateRefused, standard.StateNotUnderstood}         // the agent says that it does not do the task
	noAnswer  = []machine.State{standard.StateTimedOut, standard.StateCancelled}                                    // whatever the agent did, it was not accepted or was withdrawn
	otherEnds = []machine.State{standard.StateFailed, standard.StateAbandoned}                                      // the agent may have done a part, or the caller's agent has stopped
	allEnds   = slices.Concat([]machine.State{standard.StateCompleted}, notBegun, noAnswer, otherEnds)              // all of them
	failures  = slices.Concat(notBegun, noAnswer, otherEnds)                                                        // all but the result
	lost      = []machine.Symbol{machine.Commanded(standard.CommandCancel), machine.Timeout(machine.TimerDeadline)} // the end of the caller's context
)

// FindTable returns the table of [FindAndDelegate] and [DelegateToAny]: which agent is asked
// next, and when no further one may be. It has one role: the conversations with the agents are
// of [delegation.Table]. The same rules choose the next agent of a broker ([InTurn]).
func FindTable() machine.Table {
	return standard.Rows(0).MustComplete(machine.Table{
		Name: "discover-and-delegate", Title: "Discover and delegate",
		Purpose: "One agent finds another for a task: it asks the agents of a directory for their capabilities, ranks those that have the " +
			"needed ones, and delegates to the first that accepts the task. An agent that rejects it, is busy, or does not accept it in its share of the " +
			"time is followed by the next; an agent that has accepted it is not, unless the task is safe to repeat.",
		Source:   "rossnet §5.2; acl §9 (Whispering Wind)",
		Terminal: []machine.State{standard.StateCompleted, stateUnperformed, stateImpossible},
		Jobs: []machine.Job{
			{
				Role: machine.Initiator, Name: jobSearch, Ends: []string{commandFound, commandImpossible},
				Doc: "names the agents of the directory, and asks each for its capabilities in a conversation of `" + WhisperName + "`",
			},
			{
				Role: machine.Initiator, Name: jobChoose, Ends: []string{commandAsk, commandTry, commandWait, commandNone}, Swift: true,
				Doc: "chooses the next agent: `ask`, or `try` for a task that is safe to repeat, or `wait` for a broker that gives no share of the time",
			},
			{
				Role: machine.Initiator, Name: jobDelegate, Says: []string{commandAccepted}, Ends: append(names(allEnds), commandImpossible),
				Doc: "delegates the task to the agent in a conversation of `" + delegation.Codon.Name() + "`, and ends with the name of its end state",
			},
		},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: machine.TimerDeadline, Doc: "until the task must be done"},
			{Role: machine.Initiator, Name: machine.TimerGrace, Doc: "more than the grace of the conversation with the agent"},
			{Role: machine.Initiator, Name: timerShare, Doc: "an equal part of the time left for each agent that can still be asked"},
		},
		Rows: slices.Concat(findBegins(), findChooses(), findAsks(), findPerforms(), findTries(), findStops()),
		Agree: []machine.Pair{
			{Initiator: standard.StateCompleted, Responder: machine.Idle, Note: "an agent has performed the task"},
			{Initiator: stateUnperformed, Responder: machine.Idle, Note: "the error has the end of each conversation"},
			{Initiator: stateImpossible, Responder: machine.Idle, Note: "the error says why"},
			{Initiator: standard.StateAbandoned, Responder: machine.Idle, After: []machine.Cause{machine.At(machine.Initiator, machine.Commanded(standard.CommandStop))}, Note: "the program stopped"},
		},
		Declarations: findDeclarations(),
	})
}

// findDeclarations say to which end an event leads, apart from the rows.
func findDeclarations() machine.Declarations {
	var d machine.Declarations
	end := func(to machine.State, on []machine.Symbol, in ...machine.State) {
		for _, symbol := range on {
			d.Ends = append(d.Ends, machine.Ending{Role: machine.Initiator, On: symbol, To: to, In: in})
		}
	}
	end(standard.StateCompleted, ended(standard.StateCompleted))
	end(stateUnperformed, slices.Concat(ended(failures...), lost, []machine.Symbol{machine.Commanded(commandNone)}))
	end(stateImpossible, []machine.Symbol{machine.Commanded(commandImpossible)})
	end(stateUnperformed, []machine.Symbol{machine.Commanded(commandImpossible)}, stateStopping)
	return d
}

func names(states []machine.State) []string {
	all := make([]string, len(states))
	for i, s := range states {
		all[i] = string(s)
	}
	return all
}

// next has the next agent chosen.
func next(r machine.Row, before ...machine.Effect) machine.Row {
	return r.Goto(stateChoosing, append(before, machine.Run(jobChoose))...)
}

func findBegins() []machine.Row {
	idle, searching := machine.Asks(machine.Idle), machine.Asks(stateSearching)
	return []machine.Row{
		next(idle.When(machine.Commanded(machine.CommandStart)), machine.Arm(machine.TimerDeadline)).
			Because("the agents are known"),
		idle.When(machine.Commanded(commandSearch)).
			Goto(stateSearching, machine.Arm(machine.TimerDeadline), machine.Run(jobSearch)).
			Because("the agents are searched for"),
		next(searching.When(machine.Commanded(commandFound))).
			Because("the best is asked first"),
		searching.When(machine.Commanded(commandImpossible)).
			Goto(stateImpossible).
			Because("the directory failed, or no query could begin"),
		searching.When(lost...).
			Goto(stateUnperformed, machine.Stop(jobSearch)).
			Because("the caller wants no more"),
	}
}

func findChooses() []machine.Row {
	choosing := machine.Asks(stateChoosing)
	return []machine.Row{
		choosing.When(machine.Commanded(commandAsk)).
			Goto(stateAsking, machine.Run(jobDelegate), machine.Arm(timerShare)).
			Because("the agent has its share of the time to accept the task"),
		choosing.When(machine.Commanded(commandTry)).
			Goto(stateTrying, machine.Run(jobDelegate)).
			Because("the share is the deadline of the task, which another agent may repeat"),
		choosing.When(machine.Commanded(commandWait)).
			Goto(stateWaiting, machine.Run(jobDelegate)).
			Because("a broker has promised an answer, and waits for the agent"),
		choosing.When(machine.Commanded(commandNone)).
			Goto(stateUnperformed).
			Because("all agents were asked"),
		choosing.When(lost...).
			Goto(stateUnperformed, machine.Stop(jobChoose)).
			Because("the caller wants no more, and no further agent is asked"),
	}
}

// findAsks returns the rows until the agent has accepted.
func findAsks() []machine.Row {
	asking, withdrawing := machine.Asks(stateAsking), machine.Asks(stateWithdrawing)
	return []machine.Row{
		asking.When(machine.Commanded(commandAccepted)).
			Goto(statePerforming, machine.Disarm(timerShare)).
			Because("the agent has all the time left"),
		next(asking.When(ended(slices.Concat(notBegun, noAnswer)...)...), machine.Disarm(timerShare)).
			Because("the agent has not accepted the task"),
		asking.When(machine.Timeout(timerShare)).
			Goto(stateWithdrawing, machine.Stop(jobDelegate)).
			Because("the agent gets CANCEL, and its end is awaited, so that it does not begin the task later"),
		withdrawing.When(machine.Commanded(commandAccepted)).
			Goto(stateStopping, machine.Disarm(machine.TimerDeadline), machine.Arm(machine.TimerGrace)).
			Because("the acceptance crossed with the end of the share, so the agent may have done a part of the task"),
		next(withdrawing.When(ended(slices.Concat(notBegun, noAnswer)...)...)).
			Because("the agent has not accepted the task"),
		asking.When(lost...).
			Goto(stateStopping, machine.Stop(jobDelegate), machine.Disarm(timerShare), machine.Disarm(machine.TimerDeadline), machine.Arm(machine.TimerGrace)).
			Because("the caller wants no more"),
		withdrawing.When(lost...).
			Goto(stateStopping, machine.Disarm(machine.TimerDeadline), machine.Arm(machine.TimerGrace)).
			Because("the caller wants no more"),
	}
}

// findPerforms returns the rows for an agent that is not followed by another unless it says that
// it does not do the task.
func findPerforms() []machine.Row {
	performing, waiting := machine.Asks(statePerforming), machine.Asks(stateWaiting)
	both := machine.Asks(statePerforming, stateWaiting)
	all := machine.Asks(stateAsking, stateWithdrawing, statePerforming, stateWaiting)
	return []machine.Row{
		machine.Asks(stateAsking, stateWithdrawing, statePerforming, stateWaiting, stateTrying).When(ended(standard.StateCompleted)...).
			Goto(standard.StateCompleted).
			Because("the result"),
		all.When(ended(otherEnds...)...).
			Goto(stateUnperformed).
			Because("a second agent could repeat work that the first has done in part"),
		all.When(machine.Commanded(commandImpossible)).
			Goto(stateImpossible).
			Because("the task or an option is not valid, or the caller's agent has stopped"),
		next(both.When(ended(notBegun...)...)).
			Because("the agent says that it does not do the task; a rejection after an acceptance counts as well"),
		both.When(ended(noAnswer...)...).
			Goto(stateUnperformed).
			Because("the agent may have begun the task"),
		performing.When(machine.Commanded(commandAccepted)).
			Stay(machine.Drop(machine.DropDuplicate)).
			Because("once is enough"),
		waiting.When(machine.Commanded(commandAccepted)).
			Goto(statePerforming).
			Because("the agent has begun the task"),
		machine.Asks(statePerforming, stateWaiting, stateTrying).When(lost...).
			Goto(stateStopping, machine.Stop(jobDelegate), machine.Disarm(machine.TimerDeadline), machine.Arm(machine.TimerGrace)).
			Because("the caller wants no more"),
	}
}

// findTries returns the rows for a task that is safe to repeat.
func findTries() []machine.Row {
	trying := machine.Asks(stateTrying)
	return []machine.Row{
		next(trying.When(ended(slices.Concat(notBegun, noAnswer, []machine.State{standard.StateFailed})...)...)).
			Because("the task is safe to repeat"),
		trying.When(ended(standard.StateAbandoned)...).
			Goto(stateUnperformed).
			Because("the caller's agent has stopped"),
		trying.When(machine.Commanded(commandImpossible)).
			Goto(stateImpossible).
			Because("the task or an option is not valid"),
		trying.When(machine.Commanded(commandAccepted)).
			Stay(machine.Drop(machine.DropDuplicate)).
			Because("the acceptance changes nothing"),
	}
}

// findStops returns the rows while the last conversation is withdrawn.
func findStops() []machine.Row {
	stopping := machine.Asks(stateStopping)
	return []machine.Row{
		stopping.When(ended(standard.StateCompleted)...).
			Goto(standard.StateCompleted).
			Because("the result crossed with the end of the context"),
		stopping.When(append(ended(failures...), machine.Commanded(commandImpossible))...).
			Goto(stateUnperformed).
			Because("nothing runs any more, and no further agent is asked"),
		stopping.When(machine.Timeout(machine.TimerGrace)).
			Goto(stateUnperformed).
			Because("the conversation has not ended in its own grace; the agent's own deadline ends its side"),
		stopping.When(machine.Commanded(commandAccepted), machine.Commanded(standard.CommandCancel)).
			Stay(machine.Drop(machine.DropLate)).
			Because("it is stopped already"),
	}
}
