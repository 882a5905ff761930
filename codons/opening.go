package codons

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// opens reports whether m begins a conversation of a codon, on the side that
// answers, or is the CANCEL of one that comes first. A message that names no protocol
// belongs to the codon that is the usual one for its act.
func opens(m *performatives.Message, of *machine.Machine, usual bool) bool {
	switch m.Protocol() {
	case of.Name():
		return m.Performative() == performatives.ActCancel || of.Opens(m.Performative())
	case "":
		return usual && of.Opens(m.Performative())
	}
	return false
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
