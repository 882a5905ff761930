package request

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the request codon: its table, its payloads and its documentation.
var Codon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
		Name: "request", Title: "Request",
		Purpose: "One agent asks another to do something. The other refuses, or does it and answers, with a result if there is one. " +
			"When the answer takes a while, it may agree first.",
		Source:  "addenda §6; FIPA Request Interaction Protocol (SC00026H)",
		Opening: performatives.ActRequest, Agree: true,
		Opened: "the agent wants something done",
		Job:    "the agent does the action that was requested",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInform, End: standard.StateAnswered, Why: "the action is done, with a result if there is one"},
		},
	}.Own(),
	Example: "ExampleRequest",
	Payloads: []codons.Payload{
		{Act: performatives.ActRequest, Type: performatives.Raw{}, Doc: "the action, in a type of the application"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the action will be done"},
		{Act: performatives.ActInform, Type: performatives.Raw{}, Doc: "the action is done; its result, in a type of the application"},
	},
})

// WhenCodon is the request-when codon: its table, its payloads and its documentation.
var WhenCodon = codons.MustDefine(codons.Definition{
	Table: standard.Exchange{
		Name: "request-when", Title: "Request when",
		Purpose: "One agent asks another to do something as soon as a condition is true. The other refuses or agrees. " +
			"Then it waits for the condition, does the action once and answers, with a result if there is one.",
		Source:  "addenda §6; FIPA Request When Interaction Protocol (SC00028H)",
		Opening: performatives.ActRequestWhen, Agree: true,
		Opened:   "the agent wants something done once a condition is true",
		Consider: "the agent decides whether it will do the action once the condition is true; it agrees even where it is true already",
		Job:      "the agent waits until the condition is true, and does the action",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInform, End: standard.StateAnswered, Why: "the condition became true and the action is done, with a result if there is one"},
		},
	}.Own(),
	Example: "ExampleAskWhen",
	Payloads: []codons.Payload{
		{Act: performatives.ActRequestWhen, Type: When{}, Doc: "the action, and the condition that has to be true first"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the action will be done once the condition is true"},
		{Act: performatives.ActInform, Type: performatives.Raw{}, Doc: "the action is done; its result, in a type of the application"},
	},
})
