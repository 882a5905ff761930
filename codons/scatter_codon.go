package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// scatterCodon is many delegations and what joins them.
func scatterCodon() Codon {
	rules := ScatterRules(2, 2)
	return Codon{
		Table: machine.Table{
			Name: "scatter-gather", Title: "Scatter and gather",
			Purpose: "One agent gives a task to many at once and gathers their answers: all, the first, a quorum, or the best. As soon as it is " +
				"decided the rest is cancelled, and their ends are awaited. The rules shown are those of a quorum of two.",
			Source: "G. Hohpe, B. Woolf: Enterprise Integration Patterns, Scatter-Gather (2003)",
		},
		Coordination: rules,
		Uses:         []string{"task-delegation"},
		Example:      "ExampleScatter",
	}
}
