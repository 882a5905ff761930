package codons

import "github.com/ribosome-agents/ribosome/performatives"

// handshakeCodon is [HandshakeTable] with what its documentation adds.
func handshakeCodon() Codon {
	return Codon{
		Table:   HandshakeTable(),
		Example: "ExampleHandshake",
		Payloads: []Payload{
			{performatives.ActQueryCapabilities, performatives.QueryCapabilities{}, "a summary is asked for; the asker's own capabilities"},
			{performatives.ActInformCapabilities, performatives.InformCapabilities{}, "accepted; the peer's capabilities"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
	}
}
