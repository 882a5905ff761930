package discovery

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// OntologyGuard returns a guard that refuses a message in an ontology which the agent does not
// know, as [performatives.Capabilities.UnknownOntology] says: the sender gets NOT_UNDERSTOOD with
// [performatives.CodeUnknownOntology]. The capabilities are read for each message, so the guard
// follows [actors.Self.Announce]. The guard may be called from any goroutine.
func OntologyGuard(self actors.Self, _ actors.Agent) actors.Guard {
	return func(m *performatives.Message) *performatives.Refusal {
		return self.Describe().UnknownOntology(self.ID(), m)
	}
}
