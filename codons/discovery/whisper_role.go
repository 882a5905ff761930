package discovery

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// WhisperService makes every agent answer QUERY_CAPABILITIES from its description, whatever the
// message's protocol. It guards each agent whose capabilities declare ontologies, by
// [OntologyGuard]. In a list of roles, [HandshakeService] must precede it.
var WhisperService = codons.NewService(WhisperCodon, codons.ServiceOptions{Guard: OntologyGuard, Opens: opensWhisper}, newWhisperResponder)

func opensWhisper(m *performatives.Message) bool {
	return m.Performative() == performatives.ActQueryCapabilities ||
		m.Performative() == performatives.ActCancel && m.Protocol() == WhisperName
}

func newWhisperResponder(self actors.Self, agent actors.Agent, _ codons.Times) actors.Responder {
	return codons.NewResponder(self, agent, codons.ResponderOptions{Codon: WhisperCodon})
}

// whisperResponder is the responder's side of one query. It reads the description that the
// agent gave when it started, so no agent code runs.
type whisperResponder struct{ *codons.ResponderSide }

// Run answers at once, on the conversation's actor.
func (s whisperResponder) Run(c *codons.Conversation, _ string) {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](c.Request())
	if err != nil {
		c.Happen(codons.TurnDown(err))
		return
	}
	answer, err := c.Agent().Describe().Answer(q)
	if err != nil {
		c.Happen(codons.TurnDown(err))
		return
	}
	c.Happen(codons.Command{Name: standard.CommandAnswer, Data: answer})
}

// OntologyGuard returns a guard that refuses a message in an ontology which the agent does not
// know, as [performatives.Capabilities.UnknownOntology] says: the sender gets NOT_UNDERSTOOD with
// [performatives.CodeUnknownOntology]. The capabilities are read for each message, so the guard
// follows [actors.Self.Announce]. The guard may be called from any goroutine.
func OntologyGuard(self actors.Self, _ actors.Agent) actors.Guard {
	return func(m *performatives.Message) *performatives.Refusal {
		return self.Describe().UnknownOntology(self.ID(), m)
	}
}
