// Package request is the codon by which one agent asks another to do something, and its variant
// that waits for a condition first.
//
//   - Request: the initiator calls [Request] or [Start], the responder is a [Handler]. REQUEST
//     is answered by INFORM with the result. See the example of [Request].
//   - Request when: the initiator calls [AskWhen] or [StartWhen], the responder is a
//     [WhenHandler]. REQUEST_WHEN names a condition and an action. The responder agrees first
//     (AGREE), waits for the condition, does the action once and answers with INFORM. See the
//     example of [AskWhen].
//
// In both, the responder may refuse (REFUSE), not understand the content (NOT_UNDERSTOOD) or
// fail (FAILURE). AGREE says that the answer will take a while ([Requested.Agree],
// [codons.WithAgreed]). The content and the result are types of the application.
//
// [Codon] and [WhenCodon] hold the tables. Sources: addenda §6; FIPA Request (SC00026H) and
// Request When (SC00028H) Interaction Protocols.
//
// # Shutdown
//
// CANCEL, the deadline and the stop of the agent end the ctx of the handler. The receipt for a
// CANCEL is sent after the handler has returned.
//
// # Concurrency
//
// A handler runs on a goroutine of its conversation, beside others of the same agent. An agent
// handles a bounded number of requests at a time ([codons.TaskLimiter]) and refuses further
// requests with [performatives.CodeBusy].
package request
