// Package verify checks tables of package machine exhaustively. It is for tests and
// tools: a running node does not need it.
//
//   - [Explore] walks every joint state of both sides of a conversation and of the
//     network between them, and [ExploreGroup] those of a [machine.Coordination] with
//     up to three members.
//   - [ExploreFair] walks those over a network that loses messages for good, and wants an end
//     that comes without the user.
//   - [CheckRules] checks each row by itself, and [Suite.Mutate] whether all these checks notice
//     mistakes in a table.
//   - [CheckMonitor] compares the [machine.Monitor] of a table with an oracle.
//   - [CheckCoordination] finds the faults of a coordination that show without an
//     exploration.
//   - [Walk] returns one random conversation, and [Sequence] draws the shortest one
//     that succeeds.
//
// All of them are pure and deterministic: equal arguments give equal results. They
// take time and memory in proportion to the number of states.
package verify
