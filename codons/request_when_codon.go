package codons

import "github.com/ribosome-agents/ribosome/performatives"

// requestWhenCodon is [RequestWhenTable] with what its documentation adds.
func requestWhenCodon() Codon {
	return Codon{
		Table:   RequestWhenTable(),
		Example: "ExampleRequestWhen",
		Payloads: []Payload{
			{performatives.ActRequestWhen, When{}, "what is to be done, and what has to be true before"},
			{performatives.ActAgree, nil, "it will be done once the condition is true"},
			{performatives.ActInform, performatives.Raw{}, "it is done, with the result in a type of the application's"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}
