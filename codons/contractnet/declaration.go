package contractnet

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// declarations say what the rows are for, besides what the standard rows bring.
func (x protocol) declarations() machine.Declarations {
	owed := func(name string, in ...machine.State) machine.AgentCommand {
		return machine.AgentCommand{Role: machine.Initiator, Name: name, In: in, Kind: machine.CommandOwed}
	}
	d := machine.Declarations{
		Commands: []machine.AgentCommand{
			owed(commandAward, stateProposed, stateHeld), owed(codons.CommandDecline, stateProposed, stateHeld),
			owed(commandHold, stateProposed, stateHeld),
		},
	}
	if x.iterated {
		d.Commands = append(d.Commands, owed(commandRevise, stateProposed, stateHeld))
	}
	return d
}
