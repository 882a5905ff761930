// Package saga runs several steps that belong together: either all of them are done, in
// order, or the steps that were done, or may have been, are undone in the reverse order
// (Garcia-Molina and Salem, Sagas, SIGMOD 1987, backward recovery).
//
// # Roles
//
// A saga has one role, the agent that runs it with [Saga.Run]. A [Step] is two functions of
// the program, Do and Undo. They usually ask other agents, by [delegation.Delegate],
// [request.Request] or [tool.Call] with the ctx that they are given. [Table] is the table
// of a saga.
//
// Agents can also pass a saga on from one to the next: each does its part as a step, and
// has the next agent do the rest as another step. A failure then returns the same way, and
// each agent undoes its own steps.
//
// # Ordering
//
// One step runs at a time. The journal gets the record of all events so far before the work
// that follows from them begins.
//
// # Recovery
//
// A journal stores the [codons.Record] that it gets, in place of the one before of the same
// id, or appends its last events. After a crash, [codons.ReadRecord] with [Codon] reads the
// latest one, and [Saga.Resume] undoes the steps. The end of each saga is published as
// [codons.Recorded]. A running saga is not listed by [codons.Conversations]: it has no
// actor, and the conversations of its steps are listed.
//
// # Shutdown
//
// The end of ctx stops the current step; the steps done so far are undone all the same,
// with contexts that do not end with ctx. Run returns when no more is to be done: after
// the end of ctx within the grace and the undo times of the steps.
//
// # Not offered
//
// Forward recovery, by which a crashed saga continues from a save point instead of being
// undone; steps that run concurrently; and isolation: other agents see the effects of a
// step before it is undone.
//
// ExampleSaga is a complete program.
package saga
