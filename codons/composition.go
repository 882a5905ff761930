package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// compositionCodon documents conversations that are begun in the work of another: see
// [WithBudget], [Spend], [Left] and [Detach]. It has no rows of its own, since any
// codon can be the parent, and any the child.
func compositionCodon() Codon {
	return Codon{
		Table: machine.Table{
			Name:  "composition",
			Title: "Composition",
			Purpose: "The work in one conversation begins others, its children. They are linked, cancelled, timed and paid for " +
				"as one: a child names its parent, has no more time and no more budget than it, is withdrawn with it, and has ended " +
				"before it.",
			Source: "decision 5; addenda §6",
		},
		Uses:    []string{"task-delegation"},
		Example: "ExampleWithBudget",
	}
}
