// Package systemtest is the common base of all tests of agents: of those that users write with
// codontest and agenttest, and of those of the codons of this module.
//
//   - [World] surrounds a system of agents: workers that do not stop the clock of a bubble, a log
//     and a network. At its end it reports each [Problem], and what still runs.
//   - [Network] does to messages what each [Fault] says.
//   - [Peer] is an agent that says what a test says, in single messages.
//
// Package codontest adds conversations that a seed chooses, agenttest a node, and
// codons/internal/kit all codons of the library.
package systemtest
