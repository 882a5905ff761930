package saga

import (
	"sync"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon reads and rebuilds the record of any saga ([codons.ReadRecord], [codons.Rebuild]). It
// documents sagas by the table of a saga of three steps.
var Codon = codons.MustDefine(definition(3))

// definition returns the codon of a saga of n steps.
func definition(n int) codons.Definition {
	return codons.Definition{
		Table:    Table(n),
		Complete: true,
		Commands: commands(n),
		Outcomes: map[machine.State]string{
			standard.StateCompleted: "the results of all steps",
			stateUndone:             "a *saga.Error: the failed step, its error, and the steps that were undone",
			stateIncomplete:         "a *saga.Error that also names the steps that could not be undone",
		},
		Example:       "ExampleSaga",
		InitiatorSide: func() codons.Side { return &side{} },
		Variant:       variant,
	}
}

// commands returns the contents of the commands of [Table]. The result of a step, the content of
// its done command, has the type that Do returns.
func commands(n int) map[string]any {
	all := map[string]any{machine.CommandStart: progress{}}
	for i := 1; i <= n; i++ {
		all[commandUndone(i)] = nil
		for _, failed := range []string{commandFailed(i), commandUnknown(i), commandLost(i)} {
			all[failed] = "" // the text of the error
		}
		for _, s := range []machine.State{doing(i), stopping(i), undoing(i, false)} {
			all[resume(s)] = progress{}
		}
		if i < n {
			all[resume(undoing(i, true))] = progress{}
		}
	}
	return all
}

// variants are the codons of sagas, by their numbers of steps.
var variants sync.Map

// codonOf returns the codon of a saga of n steps.
func codonOf(n int) *codons.Codon {
	if c, ok := variants.Load(n); ok {
		return c.(*codons.Codon)
	}
	c, _ := variants.LoadOrStore(n, codons.MustDefine(definition(n)))
	return c.(*codons.Codon)
}

// variant returns the codon of a record by its first event, nil for an event that begins no
// saga.
func variant(first codons.Input) *codons.Codon {
	p, ok := first.Data.(progress)
	if raw, isRaw := first.Data.(performatives.Raw); isRaw { // a command of a longer saga
		ok = performatives.Unmarshal(raw, &p) == nil
	}
	if !ok || len(p.Steps) == 0 {
		return nil
	}
	return codonOf(len(p.Steps))
}
