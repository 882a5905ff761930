package saga

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Codon documents sagas by the table of a saga of three steps.
var Codon = codons.MustDefine(codons.Definition{
	Table: Table(3),
	Outcomes: map[machine.State]string{
		codons.StateCompleted: "the results of all steps",
		stateUndone:           "a *saga.Error: the failed step, its error, and the steps that were undone",
		stateIncomplete:       "a *saga.Error that also names the steps that could not be undone",
	},
	Example: "ExampleSaga",
})
