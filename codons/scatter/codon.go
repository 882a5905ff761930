package scatter

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// Codon documents a scatter: several delegations and the rules of a quorum of two. It has
// no rows of its own.
var Codon = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name: "scatter-gather", Title: "Scatter and gather",
		Purpose: "One agent gives a task to many agents at once and gathers their answers: all, the first, a quorum, or the best. As soon as " +
			"the result is decided, the other delegations are cancelled, and their ends are awaited. The rules shown are those of a quorum of two.",
		Source: "G. Hohpe, B. Woolf: Enterprise Integration Patterns, Scatter-Gather (2003)",
	},
	Coordination: Coordination(2, 2),
	Uses:         []codons.Use{{Codon: "task-delegation", For: "with each agent, all at once: the task"}},
	Ends: "All delegations have ended. The rules of the coordination withdraw those that are not needed any more; a delegation that is " +
		"completed in spite of its CANCEL counts",
	Example: "ExampleScatter",
})

// Coordination returns the rules that join the delegations of a [Scatter], over
// [delegation.Table]: when enough delegations are completed, or fewer than least can still
// be completed, all delegations that have not ended get CANCEL.
func Coordination(enough, least int) machine.Coordination {
	live := []machine.State{delegation.StateRequested, delegation.StateInputGiven, standard.StateWorking, delegation.StateInputNeeded}
	completed := []machine.State{standard.StateCompleted, delegation.StateDeclining} // a declined delegation ends as completed
	withdraw := []machine.Choice{{Command: standard.CommandCancel}}
	return machine.Coordination{
		Name: "scatter-gather", Machine: delegation.Codon.Machine(),
		Rules: []machine.Rule{
			{
				Name: "enough", Doc: fmt.Sprintf("%d are completed: the others are not needed", enough),
				When: func(c machine.Census) bool { return c.Count(completed...) >= enough },
				Of:   live, Say: withdraw,
			},
			{
				Name: "out of reach", Doc: fmt.Sprintf("fewer than %d can still be completed: these are not needed", least),
				When: func(c machine.Census) bool {
					return c.Count(completed...)+c.Count(machine.Idle)+c.Count(live...) < least
				},
				Of: live, Say: withdraw,
			},
		},
		Unbidden: []string{standard.CommandCancel},
	}
}
