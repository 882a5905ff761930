package codons

import "github.com/ribosome-agents/ribosome/performatives"

// whisperCodon is [WhisperTable] with what its documentation adds.
func whisperCodon() Codon {
	return Codon{
		Table:   WhisperTable(),
		Example: "ExampleWhisperAll",
		Payloads: []Payload{
			{performatives.ActQueryCapabilities, performatives.QueryCapabilities{}, "what is asked: a summary, certain capabilities, or one action"},
			{performatives.ActInformCapabilities, performatives.InformCapabilities{}, "the answer, which may be that nothing matches"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}
