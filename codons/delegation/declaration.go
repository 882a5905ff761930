package delegation

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// declarations say what the rows are for, besides what the standard rows bring.
func declarations() machine.Declarations {
	return machine.Declarations{
		Commands: []machine.AgentCommand{
			{Role: machine.Initiator, Name: codons.CommandAnswer, In: []machine.State{StateInputNeeded}, Kind: machine.CommandOwed},
			{Role: machine.Initiator, Name: codons.CommandDecline, In: []machine.State{StateInputNeeded}, Kind: machine.CommandOwed},
		},
		Rest: []machine.Rest{
			{
				Initiator: []machine.State{StateInputGiven, codons.StateCancelling}, Responder: []machine.State{codons.StateCompleted},
				Why: "a known fault: the deadline of a worker that awaits input passes in silence",
			},
			{
				Initiator: []machine.State{codons.StateCancelling}, Responder: []machine.State{StateInputNeeded, StateAwaiting}, ToldOnce: true,
				Why: "a known fault: the CANCEL was lost, and the partial result is never sent again",
			},
			{
				Initiator: []machine.State{codons.StateCompleted}, Responder: []machine.State{StateInputNeeded, StateAwaiting}, ToldOnce: true,
				Why: "a known fault: the CANCEL that declines the further round, or crosses with the partial result, is sent once",
			},
		},
	}
}
