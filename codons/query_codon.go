package codons

import "github.com/ribosome-agents/ribosome/performatives"

// queryIfCodon is [QueryIfTable] with what its documentation adds.
func queryIfCodon() Codon {
	return Codon{
		Table:   QueryIfTable(),
		Example: "ExampleQueryIf",
		Payloads: []Payload{
			{performatives.ActQueryIf, performatives.QueryIf{}, "the condition"},
			{performatives.ActAgree, nil, "it will be found out"},
			{performatives.ActInformIf, performatives.InformIf{}, "whether it is true, with the condition again"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}

// queryRefCodon is [QueryRefTable] with what its documentation adds.
func queryRefCodon() Codon {
	return Codon{
		Table:   QueryRefTable(),
		Example: "ExampleQueryRef",
		Payloads: []Payload{
			{performatives.ActQueryRef, performatives.QueryRef{}, "the reference"},
			{performatives.ActAgree, nil, "it will be found out"},
			{performatives.ActInformRef, performatives.InformRef{}, "the value, with the reference again"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}
