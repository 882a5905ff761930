package request

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the request codon: its table, its payloads and its documentation.
var Codon = codons.MustDefine(codons.Definition{
	Table:    table(),
	Complete: true,
	Example:  "ExampleRequest",
	Payloads: []codons.Payload{
		{Act: performatives.ActRequest, Type: performatives.Raw{}, Doc: "the action, in a type of the application"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the action will be done"},
		{Act: performatives.ActInform, Type: performatives.Raw{}, Doc: "the action is done; its result, in a type of the application"},
	},
})

// WhenCodon is the request-when codon: its table, its payloads and its documentation.
var WhenCodon = codons.MustDefine(codons.Definition{
	Table:    whenTable(),
	Complete: true,
	Example:  "ExampleAskWhen",
	Payloads: []codons.Payload{
		{Act: performatives.ActRequestWhen, Type: When{}, Doc: "the action, and the condition that has to be true first"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the action will be done once the condition is true"},
		{Act: performatives.ActInform, Type: performatives.Raw{}, Doc: "the action is done; its result, in a type of the application"},
	},
})
