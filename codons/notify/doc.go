// Package notify holds the protocol of a message that expects no answer: an INFORM to one
// agent ([Notify]), to several ([All]) or to all ([Broadcast]). An agent receives
// notices as a [Handler].
//
// A notice begins no conversation actor on either side: the initiator sends one message, and the
// responder handles it where it arrives. Both steps are published as a [lifecycle.Transition], so
// that a notice shows in the events like any other conversation. There is no [codons.Recorded]: the
// message is all that it could hold. A notice that is lost is not sent again, and its sender is not
// told.
//
// # Ordering
//
// Notices of one sender and priority are handled in the order in which they were sent. An agent
// recognises the latest 256 notices: it drops a second copy.
//
// # Backpressure
//
// A notice that finds the mailbox full is refused: Notify returns
// [performatives.CodeBusy], if the agent is on the same node, and the notice is
// dead-lettered.
//
// # Concurrency
//
// The functions do not wait and may be called from any goroutine, also on an agent's own
// actor. A handler runs on its agent's actor and must not block.
package notify
