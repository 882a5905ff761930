// Package codontest tests codons: those of an application and those of the library.
//
//   - [Explore] walks every state that a codon's table can come to.
//   - [Conform] runs conversations of the codon over a network with faults, and compares
//     them with the table.
//
// Both belong into the test of any codon:
//
//	func TestReview(t *testing.T) {
//		codontest.Explore(t, Review)
//		codontest.Conform(t, Review,
//			codontest.Content(machine.CommandStart, Change{Diff: "a.go"}),
//			codontest.Content("comment", Comments{Text: "tests?"}))
//	}
//
// [Conform] does the jobs itself, by a script that the seed chooses. [Agent] has it test
// an agent of the application in its place:
//
//	codontest.Conform(t, Review, codontest.Agent(
//		Review.Answer(codons.Method("review", Reviewer.Review)),
//		func() actors.Agent { return &Rev{} }))
//
// [Agents] and [Calling] do this for several agents, and for a package with a function of its
// own that opens conversations.
//
// Conform runs agents in the same world as package runtime/agenttest: on virtual time, over a
// network with faults, and with the same problems at its end. It chooses conversations and faults
// by a seed, and knows the table; there, a test says what happens, and knows what it expects.
package codontest
