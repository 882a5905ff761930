package library

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/codons/tool"
)

// Codons returns every codon of the families: first the protocols of two agents that have
// work done, then those that tell, find and negotiate, last the compositions. docs/codons has
// a page for each, and the tests explore each table. The slice belongs to the caller; the
// codons are shared and must not be changed.
func Codons() []*codons.Codon {
	return []*codons.Codon{
		delegation.Codon,
		delegation.NeedInputCodon,
		tool.Codon,
		request.Codon,
		request.WhenCodon,
		query.IfCodon,
		query.RefCodon,
		approval.ProposeCodon,
		approval.Codon,
		notify.Codon,
		subscribe.Codon,
		subscribe.WheneverCodon,
		discovery.WhisperCodon,
		discovery.HandshakeCodon,
		discovery.FindCodon,
		contractnet.Codon,
		contractnet.IteratedCodon,
		auction.EnglishCodon,
		auction.DutchCodon,
		mediation.BrokeringCodon,
		mediation.RecruitingCodon,
		mediation.DeliveryCodon,
		scatter.Codon,
		saga.Codon,
		compositionCodon,
	}
}

// Services returns the service of every codon that agents answer, with the time limits t, in the
// order of [Codons]. An agent plays the roles whose interfaces it implements. The order
// matters in one place: an opening message goes to the first service that takes it, and
// [discovery.WhisperService] takes every QUERY_CAPABILITIES that is not a handshake's.
//
// A [delegation.Worker] can be recruited, and gets only tasks that fit the input schemas that it
// announces: [mediation.Recruitable] and [tool.CheckArguments] wrap it.
func Services(t codons.Times) []*codons.Service {
	services := []*codons.Service{
		delegation.NewService(tool.CheckArguments(), mediation.Recruitable),
		tool.Service,
		request.Service,
		request.WhenService,
		query.IfService,
		query.RefService,
		approval.ProposeService,
		approval.Service,
		notify.Service,
		subscribe.Service,
		subscribe.WheneverService,
		discovery.HandshakeService, // before WhisperService
		discovery.WhisperService,
		contractnet.Service,
		contractnet.IteratedService,
		auction.EnglishService,
		auction.DutchService,
		mediation.BrokeringService,
		mediation.RecruitingService,
		mediation.DeliveryService,
	}
	for i, r := range services {
		services[i] = r.With(t)
	}
	return services
}

// Protocols returns [Services] in the type that actors.Options.Protocols has.
func Protocols(t codons.Times) []actors.Protocol {
	services := Services(t)
	all := make([]actors.Protocol, len(services))
	for i, r := range services {
		all[i] = r
	}
	return all
}

// compositionCodon documents conversations that a handler begins as children of its own
// conversation: see [codons.WithBudget], [codons.Spend], [codons.BudgetLeft] and [codons.Detach].
// It has no table, since any codon can be the parent and any codon the child.
var compositionCodon = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name:  "composition",
		Title: "Composition",
		Purpose: "The work in one conversation begins others, its children. They are linked, cancelled, timed and paid for " +
			"as one: a child names its parent, has no more time and no more budget than it, is withdrawn with it, and has ended " +
			"before it.",
		Source: "ADR 5 (docs/adr/0005-composition.md); addenda §6",
	},
	Uses: []codons.Use{{Codon: "task-delegation", For: "a parent, and each of its children: both may be of any codon. A child begins with the ctx of a handler of its parent"}},
	Ends: "The parent ends, after all of its children: the children that are under way when the handler returns, or when the parent is withdrawn " +
		"or out of time, are withdrawn, and the parent sends its last act when they have ended. That act is FAILURE (`still_running`) where one has not " +
		"ended in the grace. The standard rows of each table have the parent's states for that wait, such as `cancelling`",
	Example: "ExampleWithBudget",
})
