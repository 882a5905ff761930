package auction

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
			owed(commandCall, stateWaiting), owed(commandOver, stateWaiting, stateLeading),
			owed(commandAccept, stateProposed), owed(commandReject, stateProposed),
			owed(commandSell, stateLeading), owed(commandSettle, stateWon),
		},
	}
	d.Rest = []machine.Rest{{
		Initiator: []machine.State{stateCalled}, Responder: []machine.State{stateMissed, stateSilent},
		Why: "the auctioneer's clock ends the round of a silent bidder",
	}, {
		Initiator: []machine.State{stateOver}, Responder: append(betweenPrices(), machine.Idle, stateAnnounced), ToldOnce: true,
		Why: "the end of the auction is announced once; a bidder that misses it has its deadline",
	}, {
		Initiator: []machine.State{standard.StateFailed}, Responder: []machine.State{stateWaiting},
		Why: "the bidder is out after a bid that could not be read; it has its deadline",
	}, {
		Initiator: []machine.State{standard.StateFailed}, Responder: []machine.State{stateProposed}, ToldOnce: true,
		Why: "the rejection of such a bid is sent once",
	}}
	end := func(role machine.Role, on machine.Symbol, to machine.State, in ...machine.State) {
		d.Ends = append(d.Ends, machine.Ending{Role: role, On: on, To: to, In: in})
	}
	end(machine.Initiator, machine.Receive(performatives.ActInformResult), standard.StateCompleted)
	end(machine.Initiator, machine.ReceiveTagged(performatives.ActPropose, tagUnreadable), standard.StateFailed)
	end(machine.Initiator, machine.Commanded(commandOver), stateOver)
	end(machine.Responder, machine.Commanded(standard.CommandFinish), standard.StateCompleted)
	end(machine.Responder, machine.ReceiveTagged(performatives.ActInform, tagClosed), stateOver)
	end(machine.Responder, machine.Timeout(machine.TimerDeadline), stateAbsent, stateAnnounced)
	end(machine.Responder, machine.Commanded(standard.CommandStop), stateAbsent, stateAnnounced)
	d.Exceptions = []machine.Exception{
		{
			Rule: "silence", Role: machine.Responder, In: []machine.State{stateAnnounced},
			On:  []machine.Symbol{machine.Timeout(machine.TimerDeadline), machine.Commanded(standard.CommandStop)},
			Why: "there is no price to answer yet",
		},
		{
			Rule: "repeat", Role: machine.Responder, In: []machine.State{stateWaiting, stateLeading},
			On:  []machine.Symbol{machine.Duplicate(performatives.ActCFP)},
			Why: "the bid that answers this price was decided about",
		},
		{
			Rule: "silence", Role: machine.Responder, In: []machine.State{stateLeading},
			On:  []machine.Symbol{machine.ReceiveTagged(performatives.ActInform, tagWon)},
			Why: "it leads already; the transaction is requested next",
		},
	}
	d.Renewals = []machine.Renewal{
		{Role: machine.Initiator, Timer: machine.TimerDeadline, On: []machine.Symbol{
			machine.Commanded(commandCall), machine.Commanded(commandSettle), machine.ReceiveTagged(performatives.ActRefuse, tagPass),
		}},
		{
			Role: machine.Initiator, Timer: machine.TimerDeadline, In: []machine.State{stateCalled},
			On: []machine.Symbol{machine.Receive(performatives.ActPropose)},
		},
		{Role: machine.Responder, Timer: machine.TimerDeadline, On: []machine.Symbol{
			machine.Receive(performatives.ActCFP), machine.Receive(performatives.ActRequest),
		}},
		{
			Role: machine.Responder, Timer: machine.TimerDeadline, In: []machine.State{standard.StateConsidering},
			On: []machine.Symbol{machine.Commanded(commandPropose), machine.Commanded(commandPass), machine.Timeout(machine.TimerDeadline)},
		},
	}
	d.Garbled = []machine.Garbled{{Role: machine.Initiator, On: machine.ReceiveTagged(performatives.ActPropose, tagUnreadable)}}
	if x.rising {
		d.Commands = append(d.Commands, owed(commandOutbid, stateLeading),
			owed(commandCall, stateOutbid), owed(commandOver, stateOutbid), owed(commandRestore, stateOutbid))
	}
	return d
}
