package contractnet

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the contract net of one round, with its documentation. A CFP that names no
// protocol opens it.
var Codon = codons.MustDefine(codons.Definition{
	Table:         Table(),
	Complete:      true,
	Coordination:  rules{winners: 1, reserve: true}.coordination(),
	Example:       "ExampleCallForProposals",
	Tag:           tag,
	Payloads:      payloads("the task, until when it is to be done, and on which terms"),
	Outcomes:      outcomes,
	Commands:      map[string]any{commandAward: award{}},
	InitiatorSide: initiating,
	ResponderSide: responding,
})

// IteratedCodon is the contract net of several rounds, with its documentation.
var IteratedCodon = codons.MustDefine(codons.Definition{
	Table:         IteratedTable(),
	Complete:      true,
	Coordination:  rules{winners: 1, reserve: true, iterated: true}.coordination(),
	Example:       "ExampleWithRounds",
	Tag:           tag,
	Payloads:      payloads("the task, until when it is to be done, and on which terms; in a further round, on others"),
	Outcomes:      outcomes,
	Commands:      map[string]any{commandAward: award{}, commandRevise: revision{}},
	InitiatorSide: initiating,
	ResponderSide: responding,
})

// Service has every [Bidder] answer the CFP of a contract net.
var Service = codons.NewService(Codon, codons.ServiceOptions{Usual: true}, func(self actors.Self, bidder Bidder, t codons.Times) actors.Responder {
	return newResponder(self, bidder, Codon, t)
})

// IteratedService has every [Bidder] answer the CFP of an iterated contract net.
var IteratedService = codons.NewService(IteratedCodon, codons.ServiceOptions{}, func(self actors.Self, bidder Bidder, t codons.Times) actors.Responder {
	return newResponder(self, bidder, IteratedCodon, t)
})

// payloads returns the contents of the acts; call says what a CFP carries.
func payloads(call string) []codons.Payload {
	return []codons.Payload{
		{Act: performatives.ActCFP, Type: Call{}, Doc: call},
		{Act: performatives.ActPropose, Type: Proposal{}, Commands: []string{commandPropose}, Doc: "for how much the bidder would do it, and how long it is bound"},
		{Act: performatives.ActAcceptProposal, Type: Acceptance{}, Doc: "the proposal that won"},
		{Act: performatives.ActRejectProposal, Type: performatives.RejectProposal{}, Doc: "why a proposal did not win: `rejected` where others were better, `deadline_expired` where it came too late"},
		{Act: performatives.ActInformResult, Type: performatives.InformResult{}, Commands: []string{standard.CommandFinish}, Doc: "the result of the winner's work"},
	}
}

// outcomes are the results of the caller for a bidder whose proposal the caller itself
// rejected.
var outcomes = map[machine.State]string{
	standard.StateRejected: "a `Loss` with the code `rejected`",
	stateLapsed:            "a `Loss` with the code `deadline_expired`",
}

// tag returns what the tables must know of a message's content: whether a proposal is
// unreadable, and whether a FAILURE says that the proposal lapsed.
func tag(m *performatives.Message) string {
	switch m.Performative() { //nolint:exhaustive // the tables have tagged rows for these two
	case performatives.ActPropose:
		if _, err := performatives.PayloadAs[Proposal](m); err != nil {
			return tagUnreadable
		}
	case performatives.ActFailure:
		if m.AsRefusal().Code == performatives.CodeExpired {
			return tagLapsed
		}
	}
	return ""
}
