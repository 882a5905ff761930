package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// States of a contract net that other codons do not have.
const (
	stateCalled   machine.State = "called"   // initiator: no proposal yet
	stateProposed machine.State = "proposed" // there is a proposal, and no answer to it
	stateHeld     machine.State = "held"     // initiator: the proposal is kept in reserve, which its bidder does not notice
	stateAwarded  machine.State = "awarded"  // initiator: the proposal was accepted, no result yet
	stateLapsed   machine.State = "lapsed"   // the proposal's validity ended without an answer
)

// Commands of a contract net that other codons do not have.
const (
	commandAward   = "award"   // initiator: accept the proposal
	commandHold    = "hold"    // initiator: keep the proposal in reserve, and again decide about it later
	commandRevise  = "revise"  // initiator: call for a better proposal
	commandPropose = "propose" // responder: bid
)

// tagUnreadable marks a proposal whose content makes no sense.
const tagUnreadable = "unreadable"

// tagLapsed marks the FAILURE of a bidder whose proposal has lapsed.
const tagLapsed = "lapsed"

// reportProposed reports the payload of a PROPOSE.
const reportProposed = "proposed"

// ContractNetTable returns the codon of a caller and one bidder: a call for
// proposals, a proposal, an award and its result (addenda §6). What a caller does
// with the proposals of many is [ContractNetCoordination].
func ContractNetTable() machine.Table {
	return contract{
		name: "contract-net", title: "Contract net",
		purpose: "One agent calls for proposals to do a task. Each bidder refuses or proposes; of the proposals, " +
			"some are accepted and the others rejected, and whose was accepted does the task and says what came of it.",
		source: "addenda §6; FIPA Contract Net Interaction Protocol (SC00029H)",
	}.table()
}

// IteratedContractNetTable is [ContractNetTable] with more rounds: a proposal may be
// answered by a revised call.
func IteratedContractNetTable() machine.Table {
	return contract{
		name: "iterated-contract-net", title: "Iterated contract net",
		purpose: "A contract net in which the caller may answer proposals by a revised call for better ones, " +
			"until it accepts some or rejects all.",
		source:   "addenda §6; FIPA Iterated Contract Net Interaction Protocol (SC00030H)",
		iterated: true,
	}.table()
}

// contract is what the tables of the two contract nets are made of.
type contract struct {
	name, title, purpose, source string

	iterated bool // a proposal may be answered by another call
}

// contractEnds are the terminal states of both sides.
func contractEnds() []machine.State {
	return []machine.State{
		stateCompleted, stateRefused, stateNotUnderstood, stateRejected, stateFailed, stateCancelled, stateLapsed, stateTimedOut,
	}
}

func (x contract) table() machine.Table {
	return machine.Table{
		Name: x.name, Title: x.title, Purpose: x.purpose, Source: x.source,
		Live: []machine.State{
			stateCalled, stateConsidering, stateProposed, stateHeld, stateAwarded, stateWorking, stateCancelling,
		},
		Terminal: append(contractEnds(), stateAbandoned),
		Jobs: []machine.Job{
			{
				Role: machine.Responder, Name: jobConsider,
				Ends: []string{commandPropose, commandRefuse, commandNotUnderstood, commandFail},
				Doc:  "the agent decides whether to bid, and how much",
			},
			{
				Role: machine.Responder, Name: jobPerform,
				Ends: []string{commandFinish, commandFail},
				Doc:  "the agent does what it was awarded",
			},
		},
		Timers: contractTimers(),
		Rows: concat(x.call(), x.choose(), contractAwarded(), x.withdraw(), x.callEnded(),
			x.consider(), x.proposed(), contractWorking(), contractServeCancelling(), x.serveEnded()),
		Agree: contractPairs(),
	}
}

func contractTimers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: timerDeadline, Doc: "until proposals are due, then until the proposal lapses, then until the result is due"},
		{Role: machine.Initiator, Name: timerRetry, Doc: "until a CFP, ACCEPT_PROPOSAL or CANCEL without its answer is sent again"},
		{Role: machine.Initiator, Name: timerGrace, Doc: "how long to wait for the end after a CANCEL"},
		{Role: machine.Responder, Name: timerDeadline, Doc: "until proposals are due, then until the proposal lapses, then until the result is due"},
		{Role: machine.Responder, Name: timerRetry, Doc: "until a proposal without an answer is sent again"},
		{Role: machine.Responder, Name: timerGrace, Doc: "how long a cancelled handler may take to return"},
	}
}

// contractPairs is every way in which a caller and one bidder may end.
func contractPairs() []machine.Pair {
	var pairs []machine.Pair
	rough := func(initiator, responder machine.State, note string) {
		pairs = append(pairs, machine.Pair{Initiator: initiator, Responder: responder, Rough: true, Note: note})
	}
	for _, end := range contractEnds() {
		switch end { //nolint:exhaustive // the others are ends of every pair
		case stateTimedOut, stateLapsed:
			rough(end, end, "")
		default:
			pairs = append(pairs, machine.Pair{Initiator: end, Responder: end})
		}
		if end != stateTimedOut {
			rough(stateTimedOut, end, "the answer was lost, or came too late")
		}
		rough(stateAbandoned, end, gone)
	}
	rough(stateTimedOut, machine.Idle, unknown)
	rough(stateAbandoned, machine.Idle, unknown)
	rough(stateFailed, stateTimedOut, "the bidder's deadline passed first, and its FAILURE says so")
	rough(stateRejected, stateLapsed, "the proposal lapsed before its rejection came")
	rough(stateRejected, stateFailed, "the bidder stopped before the rejection came")
	rough(stateLapsed, stateFailed, "the bidder stopped before the caller's clock ran out")
	rough(stateLapsed, stateRejected, "the proposal lapsed for the caller first")
	return pairs
}
