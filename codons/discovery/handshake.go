package discovery

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Handshake sends a summary of the party's capabilities to an agent and returns the agent's
// summary. Afterwards each of the two knows the other ([actors.Self.Knows]), until one of them
// stops, refuses a further handshake, or forgets the other ([actors.Self.Forget]).
//
// Messages of the peer may overtake its answer. So the party knows the peer from the query
// on, and forgets it if the handshake fails. A refusal also ends an earlier handshake,
// unless the peer was busy or got the query after its deadline.
//
// The deadline is ctx's, or else [codons.DefaultDeadline]; the end of ctx withdraws the query.
// The error is an [*codons.EndError], with the state "refused" when the peer refuses, or
// says why the party cannot begin. Handshake must not be called on an agent's own actor.
func Handshake(ctx context.Context, p codons.Party, to performatives.AgentID, opts ...codons.Option) (performatives.Capabilities, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return performatives.Capabilities{}, err
	}
	o := codons.NewOptions(opts...)
	if o.Ontology() == "" {
		o.Apply(codons.WithOntology(performatives.OntologyCapabilityQuery))
	}
	defer self.Expect(to)()
	theirs, err := introduction(self, to).AskWith(ctx, p, o)
	switch {
	case err == nil:
		self.Know(to)
	case refused(err):
		self.Forget(to)
	}
	return theirs, err
}

// refused reports whether the error is a refusal by the peer's own decision.
func refused(err error) bool {
	var end *codons.EndError
	return errors.As(err, &end) && end.State == standard.StateRefused && decided(end.Refusal.Code)
}

// decided reports whether a REFUSE with that code is the agent's decision about the
// handshake. A busy or late refusal is made without asking the agent.
func decided(code performatives.Code) bool {
	return code != performatives.CodeBusy && code != performatives.CodeExpired
}

// introduction returns the query of a handshake, with the capabilities of self.
func introduction(self actors.Self, to performatives.AgentID) codons.Question[performatives.Capabilities] {
	return codons.Question[performatives.Capabilities]{
		Opening: codons.Opening{
			Codon: HandshakeCodon, To: to, Act: performatives.ActQueryCapabilities,
			Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: summaryOf(self)},
		},
		Read: func(m *performatives.Message) (performatives.Capabilities, error) {
			a, err := performatives.PayloadAs[performatives.InformCapabilities](m)
			if err != nil {
				return performatives.Capabilities{}, err
			}
			return required(a.Capabilities)
		},
	}
}

// summaryOf returns the summary of an agent's capabilities.
func summaryOf(self actors.Self) *performatives.Capabilities {
	a, _ := self.Describe().Answer(performatives.QueryCapabilities{Type: performatives.QuerySummary}) // a query for a summary has no errors
	return a.Capabilities
}

// required returns the capabilities that a message of a handshake carries; nil is an error.
func required(c *performatives.Capabilities) (performatives.Capabilities, error) {
	if c == nil {
		return performatives.Capabilities{}, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "capabilities", Text: "capabilities: want the capabilities of the sender, got nothing",
		}
	}
	return *c, nil
}

// HandshakeCodon is the codon of a mutual exchange of capabilities (bridge §1).
var HandshakeCodon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
		Name: "handshake", Title: "Handshake",
		Purpose: "Two agents exchange their capabilities before they begin any other conversation. An agent may require it: " +
			"then it refuses a peer that has not done so.",
		Source:  "bridge, Handshake Flow; addenda §2 and §6",
		Opening: performatives.ActQueryCapabilities,
		Opened:  "the agent sends its capabilities and asks for those of the peer",
		Job:     "the agent decides whether to accept",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInformCapabilities, End: standard.StateAnswered, Why: "accepted, with the capabilities of the peer; each agent knows the other from now on"},
		},
	}.Own(),
	Example:       "ExampleHandshake",
	ResponderSide: func(r *codons.ResponderSide) codons.Side { return handshakeResponder{r} },
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryCapabilities, Type: performatives.QueryCapabilities{}, Doc: "a query for a summary, with the capabilities of the sender"},
		{Act: performatives.ActInformCapabilities, Type: performatives.InformCapabilities{}, Commands: []string{standard.CommandAnswer}, Doc: "accepted, with the capabilities of the peer"},
	},
})
