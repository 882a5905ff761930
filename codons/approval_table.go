package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ApprovalTable returns the codon of a step that waits for a named approver. It is a
// proposal, because whoever asks takes the step itself once the other agrees; a
// REQUEST would have the approver take it.
func ApprovalTable() machine.Table {
	return exchange{
		name: "approval", title: "Approval",
		purpose: "One agent proposes a step that it will not take without the approval of another, often of a person. " +
			"The approver says that it has seen it, takes its time, and approves or denies. It is FIPA's proposal with an AGREE " +
			"(to decide) before the verdict: the asker itself takes the step, which a request would ask of the approver.",
		source:  "FIPA Propose Interaction Protocol (SC00036H); addenda §6",
		opening: performatives.ActPropose, agree: true,
		opened:  "the agent has come to a step that wants approval",
		job:     "the approver decides, or a person does behind it",
		answers: verdicts(),
	}.table()
}
