package subscribe

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// declarations say what the rows are for, besides what the standard rows bring.
func declarations(opening performatives.Performative) machine.Declarations {
	return machine.Declarations{
		LongLived: true,
		Renewals: []machine.Renewal{
			{Role: machine.Initiator, Timer: timerSilence, In: []machine.State{stateSubscribed}, On: []machine.Symbol{
				machine.Receive(performatives.ActAgree), machine.Receive(performatives.ActInform), machine.Duplicate(performatives.ActAgree),
			}},
			{Role: machine.Initiator, Timer: timerSilence, In: []machine.State{stateSubscribing}, On: []machine.Symbol{
				machine.Receive(performatives.ActAgree), machine.Receive(performatives.ActInform),
				machine.Receive(performatives.ActStatusUpdate), machine.Duplicate(performatives.ActStatusUpdate),
			}},
			{Role: machine.Initiator, Timer: machine.TimerRetry, In: []machine.State{stateSubscribing}, On: []machine.Symbol{
				machine.Receive(performatives.ActAgree), machine.Receive(performatives.ActInform),
			}},
			{
				Role: machine.Responder, Timer: timerLease, In: []machine.State{standard.StateConsidering, stateDeliberating},
				On: []machine.Symbol{machine.Duplicate(opening)},
			},
			{Role: machine.Responder, Timer: timerLease, In: []machine.State{stateSubscribed}, On: []machine.Symbol{
				machine.Receive(performatives.ActConfirm), machine.Duplicate(opening),
			}},
		},
		Rest: []machine.Rest{{
			Initiator: []machine.State{stateSubscribed}, Responder: []machine.State{stateSubscribed},
			Why: "a subscription lasts until one side ends it",
		}},
	}
}
