// Package approval holds two protocols in which one agent asks another before it acts:
// propose and approval.
//
// In both, the initiator sends PROPOSE, the responder answers with a [Verdict], and the
// initiator itself acts on it. A request would have the responder act.
//
//   - [Propose] sends any payload to a [ProposalHandler], which accepts or rejects it (FIPA
//     Propose, SC00036H).
//   - [Approve] sends a [Step] to an [Approver], often on behalf of a person. The approver may
//     first say that it has seen the step (AGREE). If one approver does not decide, the next is
//     asked ([WithEscalation]), and in the end a default applies ([WithDefault]).
//
// [Queue] is an [Approver] whose decisions come from the program, for a terminal or a web
// page.
//
// # Backpressure
//
// Proposals to one agent count against its limit of tasks ([codons.TaskLimiter]); more are refused
// as busy. [Queue.Limit] sets it for a queue.
//
// # Shutdown
//
// A deadline, a CANCEL or the stop of an agent ends the context of its handlers. A [Queue]
// removes a step when the handler's context ends, and closes [Open.Done].
//
// # Concurrency
//
// Handlers run on goroutines of their conversations. [Approve] and [Propose] wait: they may be
// called from any goroutine but an agent's own actor. All methods of a [Queue] may be called
// from any goroutine.
package approval
