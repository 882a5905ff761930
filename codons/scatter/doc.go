// Package scatter gives one task to many agents at once and gathers their answers: all,
// the first, a quorum, or the best (Hohpe and Woolf, Enterprise Integration Patterns,
// Scatter-Gather). As soon as enough answers have arrived, or enough can no longer arrive,
// the other agents get CANCEL.
//
// # Roles
//
// The asking agent runs [Scatter] with a [Gather]: [AllOf], [FirstOf], [Quorum] or
// [BestOf]. The other agents are workers of package delegation: each has one conversation
// of [delegation.Table] with the asking agent. [Coordination] has the rules that join the
// conversations.
//
// # Shutdown
//
// The end of ctx sends CANCEL to each agent that has not answered. Scatter returns when
// all conversations have ended, so that no work for it is left running, or at the latest
// after the grace of [codons.WithGrace].
//
// ExampleScatter is a complete program.
package scatter
