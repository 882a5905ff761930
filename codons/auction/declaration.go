package auction

import "github.com/ribosome-agents/ribosome/codons/machine"

// declarations say what the rows are for, besides what the standard rows bring.
func (x protocol) declarations() machine.Declarations {
	owed := func(name string, in ...machine.State) machine.AgentCommand {
		return machine.AgentCommand{Role: machine.Initiator, Name: name, In: in, Kind: machine.CommandOwed}
	}
	d := machine.Declarations{
		Commands: []machine.AgentCommand{
			owed(commandCall, stateWaiting), owed(commandOver, stateWaiting, stateLeading),
			owed(commandAccept, stateProposed), owed(commandReject, stateProposed),
			owed(commandSell, stateLeading), owed(commandSettle, stateWon),
		},
	}
	d.Rest = []machine.Rest{{
		Initiator: []machine.State{stateOver}, Responder: append(betweenPrices(), machine.Idle, stateAnnounced), ToldOnce: true,
		Why: "the end of the auction is announced once; a bidder that misses it has its deadline",
	}}
	if x.rising {
		d.Commands = append(d.Commands, owed(commandOutbid, stateLeading),
			owed(commandCall, stateOutbid), owed(commandOver, stateOutbid), owed(commandRestore, stateOutbid))
	}
	return d
}
