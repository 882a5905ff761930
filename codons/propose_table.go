package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// stateAccepted ends a conversation whose proposal was accepted.
const stateAccepted machine.State = "accepted"

// verdicts are the two answers to a proposal.
func verdicts() []answerAct {
	return []answerAct{
		{commandAccept, performatives.ActAcceptProposal, stateAccepted, "the proposer may go ahead: with that the conversation is over, and nobody answers it"},
		{commandReject, performatives.ActRejectProposal, stateRejected, "the proposer is not to do it"},
	}
}

// ProposeTable returns the codon of a proposal that its receiver accepts or rejects
// (addenda §6).
func ProposeTable() machine.Table {
	return exchange{
		name: "propose", title: "Propose",
		purpose: "One agent proposes to do something, if the other agrees. That one accepts or rejects it, " +
			"and says why if it likes.",
		source:  "addenda §6; FIPA Propose Interaction Protocol (SC00036H)",
		opening: performatives.ActPropose,
		opened:  "the agent would do something if the other agrees",
		job:     "the agent considers the proposal",
		answers: verdicts(),
	}.table()
}
