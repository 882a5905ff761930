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
	Commands: map[string]any{standard.CommandAgree: nil, standard.CommandAnswer: performatives.InformIf{}},
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryIf, Type: performatives.QueryIf{}, Doc: "the condition"},
		{Act: performatives.ActAgree, Type: nil, Doc: "the answer will follow"},
		{Act: performatives.ActInformIf, Type: performatives.InformIf{}, Doc: "whether the condition is true, with the condition"},
		{Act: performatives.ActInform, Type: performatives.Receipt{}, Doc: "the receipt for a CANCEL"},
	},
})

// RefCodon is the query-ref codon: its table, its payloads and its documentation.
var RefCodon = codons.MustDefine(codons.Definition{
	Table:    refTable(),
	Complete: true,
	Example:  "ExampleRef",
	Commands: map[string]any{standard.CommandAgree: nil, standard.CommandAnswer: performatives.InformRef{}},
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryRef, Type: performatives.QueryRef{}, Doc: "the reference"},
		{Act: performatives.ActAgree, Type: nil, Doc: "the answer will follow"},
		{Act: performatives.ActInformRef, Type: performatives.InformRef{}, Doc: "the value, with the reference"},
		{Act: performatives.ActInform, Type: performatives.Receipt{}, Doc: "the receipt for a CANCEL"},
	},
})
