package contractnet

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bidder is an agent that bids for tasks: the responder of [Table] and [IteratedTable].
// Both methods run on goroutines of the conversation, concurrently with others. They
// must not touch the agent's fields other than by [actors.Self.Do], and should return
// soon after the end of ctx.
type Bidder interface {
	actors.Agent
	// ConsiderCall returns the cost for which the agent would do the task. The proposal
	// binds the agent until its ValidUntil, and holds one of the agent's slots
	// ([codons.TaskLimiter]). It is called once for each round.
	//
	// A [*performatives.Refusal] is sent with its code and text, as REFUSE,
	// NOT_UNDERSTOOD or FAILURE, depending on the code. Any other error, and a panic, is
	// sent as FAILURE without its text.
	ConsiderCall(ctx context.Context, c Called) (Proposal, error)

	// PerformAward does the task that the agent has proposed to do, and returns the
	// result. ctx ends on CANCEL, when the result is due, or when the agent stops. Errors
	// are sent as those of [delegation.Worker].PerformTask are.
	PerformAward(ctx context.Context, a Awarded) (performatives.InformResult, error)
}

// LosingBidder is a [Bidder] that learns which of its proposals did not win.
type LosingBidder interface {
	Bidder
	// ProposalLost is called when the caller has rejected a proposal, or it has lapsed. It is not
	// called after CANCEL, nor for a proposal that a revised call has replaced. It runs on the
	// agent's own actor, so it must not block and may read and change the agent's fields. An agent
	// whose mailbox is full is not told.
	ProposalLost(l LostProposal)
}

// LostProposal is a proposal that did not win.
type LostProposal struct {
	Call     Call                  // of the latest round
	Proposal Proposal              // the agent's own
	Reason   performatives.Refusal // the caller's; [performatives.CodeExpired] for a proposal that has lapsed
	Agent    actors.Self           // the handle of the bidder
}

// Called is a call that an agent may bid for.
type Called struct {
	Call
	Message  *performatives.Message // the CFP; its ReplyBy is the time by which proposals are due
	Agent    actors.Self            // the handle of the called agent
	Previous []Proposal             // the agent's proposals of earlier rounds; belongs to the method
}

// Awarded is a task that an agent has won.
type Awarded struct {
	Call     Call                   // of the latest round
	Proposal Proposal               // the agent's own, which was accepted
	Message  *performatives.Message // the ACCEPT_PROPOSAL; its ReplyBy is the time by which the result is due
	Agent    actors.Self            // the handle of the winner
}
