package delegation

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// declarations say what the rows are for, besides what the standard rows bring.
func declarations() machine.Declarations {
	return machine.Declarations{
		Commands: []machine.AgentCommand{
			{Role: machine.Initiator, Name: standard.CommandAnswer, In: []machine.State{StateInputNeeded}, Kind: machine.CommandOwed},
			{Role: machine.Initiator, Name: standard.CommandDecline, In: []machine.State{StateInputNeeded}, Kind: machine.CommandOwed},
		},
		Ends: []machine.Ending{
			{Role: machine.Initiator, On: machine.Receive(performatives.ActInformResult), To: standard.StateCompleted},
			{Role: machine.Initiator, On: machine.Receive(performatives.ActTaskReject), To: standard.StateRejected},
			{Role: machine.Responder, On: machine.Commanded(standard.CommandFinish), To: standard.StateCompleted},
			{Role: machine.Responder, On: machine.Commanded(standard.CommandReject), To: standard.StateRejected},
			partial(machine.Receive(performatives.ActTaskReject), StateInputGiven),
			partial(machine.Receive(performatives.ActNotUnderstood), StateInputGiven, StateDeclining),
			partial(machine.Receive(performatives.ActFailure), StateInputGiven, StateInputNeeded, StateDeclining),
			partial(machine.Timeout(machine.TimerDeadline), StateInputGiven, StateInputNeeded, StateDeclining),
			partial(machine.Commanded(standard.CommandMisread), StateInputGiven, StateInputNeeded, StateDeclining),
			partial(machine.Timeout(machine.TimerGrace), StateDeclining),
			partial(machine.Commanded(standard.CommandStop), StateDeclining),
		},
		Renewals: []machine.Renewal{
			{
				Role: machine.Initiator, Timer: machine.TimerRetry, In: []machine.State{StateRequested, StateInputGiven},
				On: []machine.Symbol{machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate)},
			},
			{
				Role: machine.Responder, Timer: machine.TimerDeadline, In: []machine.State{StateInputNeeded, StateAwaiting},
				On: []machine.Symbol{machine.Receive(performatives.ActTaskRequest)},
			},
		},
	}
}

// partial is the end of an initiator whose partial result is final.
func partial(on machine.Symbol, in ...machine.State) machine.Ending {
	return machine.Ending{Role: machine.Initiator, In: in, On: on, To: standard.StateCompleted}
}
