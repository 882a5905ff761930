package codons

import (
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// named has the names of this package's codons.
var named = map[string]bool{}

// compiled makes the machine of a codon and makes its name known.
func compiled(t machine.Table) *machine.Machine {
	named[t.Name] = true
	return t.MustCompile()
}

// opens reports whether m begins a conversation of a codon, on the side that
// answers, or is the CANCEL of one that comes first. A message that names a codon of
// this package belongs to that one. Any other belongs to the one that is the usual
// one for its act, also under a name that a peer has for it, such as fipa-request.
func opens(m *performatives.Message, of *machine.Machine, usual bool) bool {
	switch {
	case m.Protocol() == of.Name():
		return m.Performative() == performatives.ActCancel || slices.Contains(of.Opening(), m.Performative())
	case !usual || named[m.Protocol()]:
		return false
	}
	return slices.Contains(of.Opening(), m.Performative())
}

// Protocols returns the answering sides of all codons of this package. An agent
// plays the roles whose interfaces it implements.
func Protocols(t Times) []actors.Protocol {
	return []actors.Protocol{
		Delegation(t),
		Handshakes(t), // before the Whispering Wind, which takes any question for capabilities
		WhisperingWind{},
		Requests(t),
		ToolCalls(t),
		QueriesIf(t), QueriesRef(t), Proposals(t), RequestsWhen(t),
		Approvals(t),
		ContractNets(t),
		IteratedContractNets(t),
		EnglishAuctions(t),
		DutchAuctions(t),
		Brokering(t),
		Recruiting(t),
		Deliveries(t),
		Notices{},
		Subscriptions(t),
		StandingRequests(t),
	}
}
