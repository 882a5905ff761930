package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// proposeCodon is [ProposeTable] with what its documentation adds.
func proposeCodon() Codon {
	return Codon{
		Table:   ProposeTable(),
		Example: "ExamplePropose",
		Payloads: []Payload{
			{performatives.ActPropose, performatives.Raw{}, "what would be done, in a type of the application's"},
			{performatives.ActAcceptProposal, consent{}, "it may be done, and why if there is a reason"},
			{performatives.ActRejectProposal, performatives.RejectProposal{}, "it must not be done, and why if there is a reason"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
		Sees: verdictsSeen(),
	}
}

// approvalCodon is [ApprovalTable] with what its documentation adds.
func approvalCodon() Codon {
	return Codon{
		Table:   ApprovalTable(),
		Example: "ExampleApprove",
		Payloads: []Payload{
			{performatives.ActPropose, Step{}, "the step, for people and for programs"},
			{performatives.ActAgree, nil, "it has been seen, and will be decided about"},
			{performatives.ActAcceptProposal, consent{}, "approved, and why if there is a reason"},
			{performatives.ActRejectProposal, performatives.RejectProposal{}, "denied, and why if there is a reason"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
		Sees: verdictsSeen(),
	}
}

// verdictsSeen is what the proposer gets.
func verdictsSeen() map[machine.State]string {
	return map[machine.State]string{
		stateAccepted: "the verdict, Accepted, with its reason",
		stateRejected: "the verdict, not Accepted, with its reason",
	}
}
