package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

const querySource = "addenda §2 and §6; FIPA Query Interaction Protocol (SC00027H)"

// QueryIfTable returns the codon of a question that has a yes or a no for an answer
// (addenda §6).
func QueryIfTable() machine.Table {
	return exchange{
		name: "query-if", title: "Query if",
		purpose: "One agent asks another whether a condition is true. It refuses, or says true or false; " +
			"before that it may agree, where it takes a while to find out.",
		source:  querySource,
		opening: performatives.ActQueryIf, agree: true,
		opened: "the agent wants to know whether something is true",
		job:    "the agent finds out whether the condition is true",
		answers: []answerAct{
			{commandAnswer, performatives.ActInformIf, stateAnswered, "true or false, with the condition that it is about (addenda §2)"},
		},
	}.table()
}

// QueryRefTable returns the codon of a question for a value (addenda §6).
func QueryRefTable() machine.Table {
	return exchange{
		name: "query-ref", title: "Query ref",
		purpose: "One agent asks another what a reference stands for. It refuses, or gives the value; " +
			"before that it may agree, where it takes a while to find out.",
		source:  querySource,
		opening: performatives.ActQueryRef, agree: true,
		opened: "the agent wants to know what something is",
		job:    "the agent finds out what the reference stands for",
		answers: []answerAct{
			{commandAnswer, performatives.ActInformRef, stateAnswered, "the value, with the reference that it is of (addenda §2)"},
		},
	}.table()
}
