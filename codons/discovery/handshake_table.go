package discovery

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// HandshakeCodon is the codon of a mutual exchange of capabilities (bridge §1).
var HandshakeCodon = codons.MustDefine(codons.Definition{
	Table:         handshakeTable(),
	Complete:      true,
	Example:       "ExampleHandshake",
	ResponderSide: func(r *codons.ResponderSide) codons.Side { return handshakeResponder{r} },
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryCapabilities, Type: performatives.QueryCapabilities{}, Doc: "a query for a summary, with the capabilities of the sender"},
		{Act: performatives.ActInformCapabilities, Type: performatives.InformCapabilities{}, Commands: []string{standard.CommandAnswer}, Doc: "accepted, with the capabilities of the peer"},
	},
})

func handshakeTable() machine.Table {
	return standard.Exchange{
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
	}.Table()
}
