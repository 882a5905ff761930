package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// RequestTable returns the codon of a request for an action (addenda §6).
func RequestTable() machine.Table {
	return exchange{
		name: "request", title: "Request",
		purpose: "One agent asks another to do something. It refuses, or does it and says so, with a result if there is one; " +
			"before that it may agree, where it takes a while.",
		source:  "addenda §6; FIPA Request Interaction Protocol (SC00026H)",
		opening: performatives.ActRequest, agree: true,
		opened: "the agent wants something done",
		job:    "the agent does what it was asked to do",
		answers: []answerAct{
			{commandAnswer, performatives.ActInform, stateAnswered, "done, with a result if there is one"},
		},
	}.table()
}
