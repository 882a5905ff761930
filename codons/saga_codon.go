package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// sagaCodon shows the table of a saga of three steps.
func sagaCodon() Codon {
	return Codon{
		Table: SagaTable(3),
		Sees: map[machine.State]string{
			stateCompleted:  "the results of all steps",
			stateUndone:     "a *SagaError: which step failed and why, and what was undone",
			stateIncomplete: "a *SagaError that also names what could not be undone",
		},
		Example: "ExampleSaga",
	}
}
