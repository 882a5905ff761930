package query

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// IfCodon is the query-if codon: its table, its payloads and its documentation.
var IfCodon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
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
	}.Own(),
	Example: "ExampleIf",
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryIf, Type: performatives.QueryIf{}, Doc: "the condition"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the answer will follow"},
		{Act: performatives.ActInformIf, Type: performatives.InformIf{}, Commands: []string{standard.CommandAnswer}, Doc: "whether the condition is true, with the condition"},
	},
})

// RefCodon is the query-ref codon: its table, its payloads and its documentation.
var RefCodon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
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
	}.Own(),
	Example: "ExampleRef",
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryRef, Type: performatives.QueryRef{}, Doc: "the reference"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the answer will follow"},
		{Act: performatives.ActInformRef, Type: performatives.InformRef{}, Commands: []string{standard.CommandAnswer}, Doc: "the value, with the reference"},
	},
})

const source = "addenda §2 and §6; FIPA Query Interaction Protocol (SC00027H)"
