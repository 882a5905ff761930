package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// HandshakeTable returns the codon of a mutual exchange of capabilities (bridge §1).
func HandshakeTable() machine.Table {
	return exchange{
		name: "handshake", title: "Handshake",
		purpose: "Two agents tell each other what they can do, before they do anything else. Either may require it: " +
			"then a peer that has not shaken hands is refused.",
		source:  "bridge, Handshake Flow; addenda §2 and §6",
		opening: performatives.ActQueryCapabilities,
		opened:  "the agent says what it can do, and asks its peer the same",
		job:     "the agent decides whether to shake hands",
		answers: []answerAct{
			{commandAnswer, performatives.ActInformCapabilities, stateAnswered, "accepted, with what the peer can do; each knows the other from now on"},
		},
	}.table()
}
