package contractnet

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// declarations say what the rows are for, besides what the standard rows bring.
func (x protocol) declarations() machine.Declarations {
	owed := func(name string, in ...machine.State) machine.AgentCommand {
		return machine.AgentCommand{Role: machine.Initiator, Name: name, In: in, Kind: machine.CommandOwed}
	}
	d := machine.Declarations{
		Commands: []machine.AgentCommand{
			owed(commandAward, stateProposed, stateHeld), owed(standard.CommandDecline, stateProposed, stateHeld),
			owed(commandHold, stateProposed, stateHeld),
		},
	}
	end := func(role machine.Role, on machine.Symbol, to machine.State, in ...machine.State) {
		d.Ends = append(d.Ends, machine.Ending{Role: role, On: on, To: to, In: in})
	}
	end(machine.Initiator, machine.Receive(performatives.ActInformResult), standard.StateCompleted)
	end(machine.Initiator, machine.ReceiveTagged(performatives.ActFailure, tagLapsed), stateLapsed)
	end(machine.Initiator, machine.ReceiveTagged(performatives.ActPropose, tagUnreadable), standard.StateRejected)
	end(machine.Initiator, machine.Commanded(standard.CommandDecline), standard.StateRejected)
	end(machine.Initiator, machine.Timeout(machine.TimerDeadline), stateLapsed, stateProposed, stateHeld)
	end(machine.Responder, machine.Timeout(machine.TimerDeadline), stateLapsed, stateProposed)
	end(machine.Responder, machine.Commanded(standard.CommandFinish), standard.StateCompleted)
	end(machine.Responder, machine.Receive(performatives.ActRejectProposal), standard.StateRejected)
	d.Renewals = []machine.Renewal{
		{Role: machine.Initiator, Timer: machine.TimerDeadline, On: []machine.Symbol{
			machine.Receive(performatives.ActPropose), machine.Commanded(commandAward), machine.Commanded(commandRevise),
		}},
		{Role: machine.Responder, Timer: machine.TimerDeadline, On: []machine.Symbol{
			machine.Commanded(commandPropose), machine.Receive(performatives.ActAcceptProposal), machine.Receive(performatives.ActCFP),
		}},
	}
	d.Exceptions = []machine.Exception{{
		Rule: "wildcard", Role: machine.Initiator, In: []machine.State{stateLapsed}, On: []machine.Symbol{machine.Receive(performatives.ActPropose)},
		Why: "the FAILURE of a proposal that lapsed overtook the proposal, so its bidder has ended",
	}}
	d.Garbled = []machine.Garbled{{Role: machine.Initiator, On: machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)}}
	if x.iterated {
		d.Commands = append(d.Commands, owed(commandRevise, stateProposed, stateHeld))
	}
	return d
}
