// Package delegation is the codon by which one agent has another perform a task.
//
// The initiator calls [Delegate], which waits for the result, or [Start], which does not. It
// sends TASK_REQUEST. The responder is an agent that implements [Worker]: its ConsiderTask
// accepts the task (TASK_ACCEPT) or rejects it (TASK_REJECT), and its PerformTask does the
// work, reports progress with [Task.Report] (STATUS_UPDATE) and returns the result
// (INFORM_RESULT). An error of PerformTask travels as FAILURE. The example of [Delegate] shows
// both roles.
//
// A worker that needs more input sends a partial result with a question, either from inside
// its work ([Task.NeedInput]) or as the result of PerformTask. The initiator answers with
// another TASK_REQUEST in the same conversation, which begins a further round. [WithInput]
// gives the answer by a function, [WithInputFrom] by another agent. Without an answer the
// partial result is the final one.
//
// [Table] holds every state and every message of the codon. The messages and their payloads
// are specified in acl §4 and §7 and addenda §2, §3 and §6.
//
// # Ordering
//
// The functions of [WithAccepted] and [WithProgress] run one at a time, and progress arrives
// in the order of the worker's reports. A progress report may arrive before the acceptance.
//
// # Backpressure
//
// A worker performs a bounded number of tasks at a time ([codons.TaskLimiter]) and rejects
// further tasks with [performatives.CodeBusy]. [Task.Report] waits while 16 earlier reports
// have not been sent.
//
// # Shutdown
//
// CANCEL, the deadline and the stop of the worker end the context of PerformTask. The receipt
// for a CANCEL is sent after PerformTask has returned, so a cancelled task no longer runs.
//
// # Concurrency
//
// ConsiderTask runs on the worker's actor and must not block. PerformTask runs on a goroutine
// of its conversation, beside other tasks of the same agent.
package delegation
