package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// needInputCodon documents the rounds of a delegation in which the worker asks back:
// see [Task.NeedInput], [WithInput] and [WithInputFrom].
func needInputCodon() Codon {
	return Codon{
		Table: machine.Table{
			Name:  "need-more-input",
			Title: "Need more input",
			Purpose: "A worker that lacks something asks back in the same conversation, by a partial result that says what. The asker's " +
				"code answers, or an agent, or a person through one, and the work goes on where it was: the same handler with the " +
				"answer, or a fresh one that is given the partial results before.",
			Source: "addenda §3",
		},
		Uses:    []string{"task-delegation", "request"},
		Example: "ExampleTask_NeedInput",
	}
}
