package codons

import "github.com/ribosome-agents/ribosome/performatives"

// requestCodon is [RequestTable] with what its documentation adds.
func requestCodon() Codon {
	return Codon{
		Table:   RequestTable(),
		Example: "ExampleRequest",
		Payloads: []Payload{
			{performatives.ActRequest, performatives.Raw{}, "what is to be done, in a type of the application's"},
			{performatives.ActAgree, nil, "it will be done"},
			{performatives.ActInform, performatives.Raw{}, "it is done, with the result in a type of the application's"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}
