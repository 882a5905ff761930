package query

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// IfCodon is the query-if codon: its table, its payloads and its documentation.
var IfCodon = codons.MustDefine(codons.Definition{
	Table:    ifTable(),
	Complete: true,
	Example:  "ExampleIf",
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryIf, Type: performatives.QueryIf{}, Doc: "the condition"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the answer will follow"},
		{Act: performatives.ActInformIf, Type: performatives.InformIf{}, Commands: []string{standard.CommandAnswer}, Doc: "whether the condition is true, with the condition"},
	},
})

// RefCodon is the query-ref codon: its table, its payloads and its documentation.
var RefCodon = codons.MustDefine(codons.Definition{
	Table:    refTable(),
	Complete: true,
	Example:  "ExampleRef",
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryRef, Type: performatives.QueryRef{}, Doc: "the reference"},
		{Act: performatives.ActAgree, Commands: []string{standard.CommandAgree}, Doc: "the answer will follow"},
		{Act: performatives.ActInformRef, Type: performatives.InformRef{}, Commands: []string{standard.CommandAnswer}, Doc: "the value, with the reference"},
	},
})
