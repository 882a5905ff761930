package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// contractNetCodon is [ContractNetTable] with what its documentation adds.
func contractNetCodon() Codon {
	return Codon{
		Table:        ContractNetTable(),
		Coordination: ContractNetCoordination(1, true),
		Example:      "ExampleCallForProposals",
		Tag:          contractTag,
		Payloads:     contractPayloads("the task, until when it is to be done, and on which terms"),
		Sees:         contractSees(),
	}
}

// iteratedContractNetCodon is [IteratedContractNetTable] with what its documentation
// adds.
func iteratedContractNetCodon() Codon {
	return Codon{
		Table:        IteratedContractNetTable(),
		Coordination: IteratedContractNetCoordination(1, true),
		Example:      "ExampleWithRounds",
		Tag:          contractTag,
		Payloads:     contractPayloads("the task, until when it is to be done, and on which terms; in a further round, on others"),
		Sees:         contractSees(),
	}
}

func contractPayloads(call string) []Payload {
	return []Payload{
		{performatives.ActCFP, Call{}, call},
		{performatives.ActPropose, Proposal{}, "for how much the bidder would do it, and how long it is bound"},
		{performatives.ActAcceptProposal, Acceptance{}, "the proposal that won"},
		{performatives.ActRejectProposal, performatives.RejectProposal{}, "why a proposal did not: `rejected` where others were better, `deadline_expired` where it came too late"},
		{performatives.ActInformResult, performatives.InformResult{}, "what the winner has done"},
		{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
	}
}

// contractSees is what the caller gets for a bidder whose proposal it did not take:
// that is its own doing.
func contractSees() map[machine.State]string {
	return map[machine.State]string{
		stateRejected: "a `Loss` with the code `rejected`",
		stateLapsed:   "a `Loss` with the code `deadline_expired`",
	}
}
