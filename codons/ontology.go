package codons

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// UnknownOntology returns the refusal of a message to an agent whose capabilities declare
// ontologies, but not that of the message (addenda §7); nil for any other message. A CANCEL, and
// the acts of discovery, mean the same in every ontology. Safe for concurrent use.
func UnknownOntology(self actors.Self, m *performatives.Message) *performatives.Refusal {
	switch m.Performative() { //nolint:exhaustive // the acts that pass
	case performatives.ActCancel, performatives.ActQueryCapabilities, performatives.ActInformCapabilities:
		return nil
	}
	known := self.Describe()
	if known.KnowsOntology(m.Ontology()) {
		return nil
	}
	return &performatives.Refusal{
		Code: performatives.CodeUnknownOntology, From: self.ID(), About: m.ID(), Field: "ontology",
		Text: fmt.Sprintf("ontology: want one of %q, got %.128q", known.Ontologies, m.Ontology()),
	}
}
