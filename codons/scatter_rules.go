package codons

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// ScatterRules returns what joins the delegations of a [Scatter]: once so many of
// them are completed as are enough, or once fewer than the least can be any more, all
// that are not at their end get CANCEL. It is a coordination over [DelegationTable].
func ScatterRules(enough, least int) machine.Coordination {
	working := []machine.State{stateRequested, stateInputGiven, stateWorking, stateInputNeeded}
	withdraw := []machine.Choice{{Command: commandCancel}}
	return machine.Coordination{
		Name: "scatter-gather", Machine: delegation,
		Rules: []machine.Rule{
			{
				Name: "enough", Doc: fmt.Sprintf("%d are completed: nobody needs the others", enough),
				When: func(c machine.Census) bool { return c.Count(stateCompleted) >= enough },
				Of:   working, Say: withdraw,
			},
			{
				Name: "out of reach", Doc: fmt.Sprintf("fewer than %d can be completed any more: nobody needs those", least),
				When: func(c machine.Census) bool {
					return c.Count(stateCompleted)+c.Count(machine.Idle)+c.Count(working...) < least
				},
				Of: working, Say: withdraw,
			},
		},
		Unbidden: []string{commandCancel},
	}
}
