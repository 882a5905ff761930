package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// BrokeringTable returns the codon of asking others through a broker (addenda §6).
func BrokeringTable() machine.Table {
	return exchange{
		name: "brokering", title: "Brokering",
		purpose: "One agent has another, the broker, find agents that can do something and ask them to. The broker refuses, " +
			"or agrees, asks them in conversations of its own, passes on what they say as it comes, and ends with all of their answers, " +
			"or with a failure when there is no match.",
		source:  "addenda §6; FIPA Brokering Interaction Protocol (SC00033H)",
		opening: performatives.ActProxy, agree: true, reports: true,
		opened: "the agent wants something of agents that it does not know",
		job:    "the broker finds the agents, asks them, and waits for their answers",
		answers: []answerAct{
			{commandAnswer, performatives.ActInform, stateAnswered, "all that the agents have answered"},
		},
	}.table()
}
