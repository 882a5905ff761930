// Package contractnet is the contract net protocol: a caller asks many agents what they
// would charge for a task, awards the task to the best bid, and gets the result of the
// work (addenda §6; FIPA SC00029H). With [WithRounds] it is the iterated contract net, in
// which the caller may ask for better bids (FIPA SC00030H).
//
// # Roles
//
// The caller runs [CallForProposals], or [Start] for a [Tender] that it does not wait for.
// An agent is a bidder when it implements [Bidder]; [Service] and [IteratedService] answer its
// calls. With each bidder the caller has one conversation, which follows [Table]:
//
//	caller                               bidder
//	CFP ([Call])                     →
//	                                 ←   PROPOSE ([Proposal]), or REFUSE
//	ACCEPT_PROPOSAL ([Acceptance])   →
//	                                 ←   INFORM_RESULT, or FAILURE
//
// Losing bids get REJECT_PROPOSAL, and a [LosingBidder] learns of it. [Coordination] has the rules
// that join the conversations of one call: when a decision is due, and how many bids may win.
//
// # Ordering
//
// A decision is made when each bidder has proposed, refused, or let the time for proposals
// pass. Decisions of one call are made one at a time. [Allocation] lists the bidders in
// the order in which the caller named them.
//
// # Backpressure
//
// A bidder that limits its tasks ([codons.TaskLimiter]) refuses a call with the code busy when
// it has no free slot. A proposal holds its slot until the proposal is rejected, has
// lapsed, or its work has ended. A caller begins one conversation for each bidder and
// queues none.
//
// # Shutdown
//
// The end of ctx and [Tender.Cancel] send CANCEL to each bidder that has not ended, at any
// stage. Wait returns after the receipts, or after the grace of [codons.WithGrace].
//
// # Concurrency
//
// The methods of a [Tender] may be called from any goroutine. The methods of a [Bidder]
// run on goroutines of their conversations, several at a time.
//
// ExampleCallForProposals is a complete program.
package contractnet
