package approval

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ProposeCodon is the codon of a proposal that its receiver accepts or rejects (addenda §6;
// FIPA SC00036H).
var ProposeCodon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
		Name: "propose", Title: "Propose",
		Purpose: "One agent proposes to do something, if the other agrees. The other accepts or rejects it, " +
			"with or without a reason.",
		Source:  "addenda §6; FIPA Propose Interaction Protocol (SC00036H)",
		Opening: performatives.ActPropose,
		Opened:  "the agent will do something if the other agrees",
		Job:     "the agent considers the proposal",
		Answers: verdictAnswers(),
	}.Own(),
	Example: "ExamplePropose",
	Payloads: []codons.Payload{
		{Act: performatives.ActPropose, Type: performatives.Raw{}, Doc: "what would be done, in a type of the application's"},
		{Act: performatives.ActAcceptProposal, Type: consent{}, Commands: []string{standard.CommandAccept}, Doc: "it may be done, and why if there is a reason"},
		{Act: performatives.ActRejectProposal, Type: performatives.RejectProposal{}, Commands: []string{standard.CommandReject}, Doc: "it must not be done, and why if there is a reason"},
	},
	Outcomes: verdictOutcomes(),
})

// Codon is the codon of a step that waits for a named approver (addenda §6; FIPA SC00036H). It
// is a proposal and not a REQUEST, because the initiator takes the step itself.
var Codon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
		Name: "approval", Title: "Approval",
		Purpose: "One agent proposes a step that it will not take without the approval of another, often of a person. " +
			"The approver says that it has seen the step, and later approves or denies it. It is FIPA's proposal with an AGREE " +
			"(to decide) before the verdict: the initiator takes the step itself, while a request would ask the approver to take it.",
		Source:  "FIPA Propose Interaction Protocol (SC00036H); addenda §6",
		Opening: performatives.ActPropose, Agree: true,
		Opened:  "the agent wants approval of its next step",
		Job:     "the approver, or a person behind it, decides",
		Answers: verdictAnswers(),
	}.Own(),
	Uses:    []codons.Use{{Codon: "discover-and-delegate", For: "the rules by which the next approver is asked: the state `trying`"}},
	Example: "ExampleApprove",
	Payloads: []codons.Payload{
		{Act: performatives.ActPropose, Type: Step{}, Doc: "the step, for people and for programs"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "it has been seen, and will be decided about"},
		{Act: performatives.ActAcceptProposal, Type: consent{}, Commands: []string{standard.CommandAccept}, Doc: "approved, and why if there is a reason"},
		{Act: performatives.ActRejectProposal, Type: performatives.RejectProposal{}, Commands: []string{standard.CommandReject}, Doc: "denied, and why if there is a reason"},
	},
	Outcomes: verdictOutcomes(),
})

// stateAccepted ends a conversation whose proposal was accepted.
const stateAccepted machine.State = "accepted"

// verdictAnswers returns the two answers to a proposal.
func verdictAnswers() []standard.AnswerAct {
	return []standard.AnswerAct{
		{Command: standard.CommandAccept, Act: performatives.ActAcceptProposal, End: stateAccepted, Why: "the initiator may act; the conversation is over, and the verdict is not answered"},
		{Command: standard.CommandReject, Act: performatives.ActRejectProposal, End: standard.StateRejected, Why: "the initiator must not act"},
	}
}

// verdictOutcomes returns the outcomes of the initiator's caller.
func verdictOutcomes() map[machine.State]string {
	return map[machine.State]string{
		stateAccepted:          "the verdict, Accepted, with its reason",
		standard.StateRejected: "the verdict, not Accepted, with its reason",
	}
}
