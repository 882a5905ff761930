package query

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

const source = "addenda §2 and §6; FIPA Query Interaction Protocol (SC00027H)"

// ifTable returns the table of a question that is answered by true or false (addenda §6).
func ifTable() machine.Table {
	return standard.Exchange{
		Name: "query-if", Title: "Query if",
		Purpose: "One agent asks another whether a condition is true. The other refuses, or answers true or false. " +
			"When the answer takes a while, it may agree first.",
		Source:  source,
		Opening: performatives.ActQueryIf, Agree: true,
		Opened: "the agent needs to know whether a condition is true",
		Job:    "the agent finds out whether the condition is true",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInformIf, End: standard.StateAnswered, Why: "true or false, with the condition that was asked about (addenda §2)"},
		},
	}.Table()
}

// refTable returns the table of a question for a value (addenda §6).
func refTable() machine.Table {
	return standard.Exchange{
		Name: "query-ref", Title: "Query ref",
		Purpose: "One agent asks another for the value of a reference. The other refuses, or answers with the value. " +
			"When the answer takes a while, it may agree first.",
		Source:  source,
		Opening: performatives.ActQueryRef, Agree: true,
		Opened: "the agent needs the value of a reference",
		Job:    "the agent finds the value of the reference",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInformRef, End: standard.StateAnswered, Why: "the value, with the reference that was asked about (addenda §2)"},
		},
	}.Table()
}
