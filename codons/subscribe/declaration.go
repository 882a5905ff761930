package subscribe

import "github.com/ribosome-agents/ribosome/codons/machine"

// declarations say what the rows are for, besides what the standard rows bring.
func declarations() machine.Declarations {
	return machine.Declarations{
		Rest: []machine.Rest{{
			Initiator: []machine.State{stateSubscribed}, Responder: []machine.State{stateSubscribed},
			Why: "a subscription lasts until one side ends it",
		}},
	}
}
