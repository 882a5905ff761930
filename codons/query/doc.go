// Package query is the two codons by which one agent asks another for a fact.
//
//   - Query if: whether a condition is true. The initiator calls [If] or [StartIf], the responder
//     is an [IfHandler]. QUERY_IF is answered by INFORM_IF. See the example of [If].
//   - Query ref: the value of a reference. The initiator calls [Ref] or [StartRef], the
//     responder is a [RefHandler]. QUERY_REF is answered by INFORM_REF. See the example of [Ref].
//
// In both, the responder may refuse (REFUSE), not understand the question (NOT_UNDERSTOOD) or
// fail (FAILURE). AGREE says that the answer will take a while ([AskedIf.Agree],
// [AskedRef.Agree], [codons.WithAgreed]). An answer repeats its question; the initiator treats
// an answer that repeats another question as an error.
//
// [IfCodon] and [RefCodon] hold the tables. Sources: addenda §2 and §6; FIPA Query Interaction
// Protocol (SC00027H).
//
// # Shutdown
//
// CANCEL, the deadline and the stop of the agent end the ctx of the handler. The receipt for a
// CANCEL is sent after the handler has returned.
//
// # Concurrency
//
// A handler runs on a goroutine of its conversation, beside others of the same agent. An agent
// answers a bounded number of questions at a time ([codons.TaskLimiter]) and refuses further
// questions with [performatives.CodeBusy].
package query
