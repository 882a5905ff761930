package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// SubscribeTable returns the codon of a subscription (addenda §6).
func SubscribeTable() machine.Table {
	return stream{
		name: "subscribe", title: "Subscribe",
		purpose: "One agent asks another to be informed of what happens. It refuses, or agrees and informs from then on, " +
			"until the subscriber cancels or the publisher ends it with a reason. Either notices when the other is gone.",
		source:  "addenda §6; FIPA Subscribe Interaction Protocol (SC00035H)",
		opening: performatives.ActSubscribe,
		opened:  "the agent wants to be informed",
		informs: "something has happened",
	}.table()
}

// RequestWheneverTable returns the codon of a standing request (addenda §6).
func RequestWheneverTable() machine.Table {
	return stream{
		name: "request-whenever", title: "Request whenever",
		purpose: "One agent asks another to act, and say so, each time a condition becomes true. It refuses, or agrees and does, " +
			"until the asker cancels or the other ends it with a reason. Either notices when the other is gone.",
		source:  "addenda §6; FIPA request-whenever (SC00037J), in the manner of Request When (SC00028H) and Subscribe (SC00035H)",
		opening: performatives.ActRequestWhenever,
		opened:  "the agent wants something done each time a condition becomes true",
		informs: "the condition has become true",
	}.table()
}
