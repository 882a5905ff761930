package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// findCodon is made of two others.
func findCodon() Codon {
	return Codon{
		Table: machine.Table{
			Name: "discover-and-delegate", Title: "Discover and delegate",
			Purpose: "One agent finds another for a task: it asks those that a directory names what they can do, ranks those that have what is " +
				"needed, and delegates to the first that takes the task on. Who rejects it, is busy, or does not take it on in its share of the " +
				"time is followed by the next; who has taken it on is not, unless the task is safe to repeat.",
			Source: "rossnet §5.2; acl §9 (Whispering Wind)",
		},
		Uses:    []string{"whispering-wind", "task-delegation"},
		Example: "ExampleFindAndDelegate",
	}
}
