package codons

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Call is the content of the CFP of a contract net: what is to be done, on which
// terms. The message's ReplyBy is until when proposals are taken.
type Call struct {
	Task performatives.TaskRequest `json:"task"`
	// ResultBy is until when a winner has to deliver. Who calls may leave it zero:
	// then it is the deadline of ctx.
	ResultBy time.Time             `json:"result_by,omitzero"`
	Round    int                   `json:"round,omitempty"` // counted from 1 by the codon
	Terms    performatives.Content `json:"terms,omitzero"`  // what a proposal has to heed, such as a largest cost
}

// Act returns [performatives.ActCFP].
func (Call) Act() performatives.Performative { return performatives.ActCFP }

// Validate checks the task.
func (c Call) Validate() error {
	if err := c.Task.Validate(); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	return nil
}

// Proposal is the content of PROPOSE in a contract net: for how much its sender
// would do the task.
type Proposal struct {
	Cost float64 `json:"cost"` // in whatever unit the caller and the bidders agree on
	// ValidUntil is how long the bidder is bound. Zero means until the call's
	// ResultBy, and no caller waits for longer.
	ValidUntil time.Time             `json:"valid_until,omitzero"`
	Details    performatives.Content `json:"details,omitzero"` // how, when, with what
}

// Act returns [performatives.ActPropose].
func (Proposal) Act() performatives.Performative { return performatives.ActPropose }

// Validate checks that the cost is a number.
func (p Proposal) Validate() error {
	if math.IsNaN(p.Cost) || math.IsInf(p.Cost, 0) {
		return &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "cost", Text: fmt.Sprintf("cost: want a finite number, got %v", p.Cost),
		}
	}
	return nil
}

// until is how long the proposal binds its bidder, when the result is due by then.
func (p Proposal) until(resultBy time.Time) time.Time {
	if p.ValidUntil.IsZero() || !resultBy.IsZero() && resultBy.Before(p.ValidUntil) {
		return resultBy
	}
	return p.ValidUntil
}

// Acceptance is the content of ACCEPT_PROPOSAL in a contract net. The message's
// ReplyBy is until when the result is due.
type Acceptance struct {
	Proposal Proposal `json:"proposal"` // the one that is accepted
}

// Act returns [performatives.ActAcceptProposal].
func (Acceptance) Act() performatives.Performative { return performatives.ActAcceptProposal }

// Bid is one bidder's answer to a call.
type Bid struct {
	Bidder   performatives.AgentID
	Proposal Proposal // the latest
	Round    int      // in which it was made, from 1; zero when there is none
	Held     bool     // it was kept in reserve: see [WithReserve]
}

// Award is a bid that won, and what was delivered.
type Award struct {
	Bid
	Result performatives.InformResult
}

// Loss is a bid that brought nothing, or the lack of one.
type Loss struct {
	Bid
	// Err is an [*EndError] whose State says how it was lost: refused, not_understood,
	// rejected (others were better), lapsed, timed_out (silent), failed, cancelled.
	Err error
}

// Allocation is what came of a call. Both lists are in the order of the bidders.
type Allocation struct {
	Awards []Award
	Lost   []Loss
}

// ErrNoAward says that nobody delivered: all bidders refused, were silent, rejected
// or failed. It comes joined with the reason of each.
var ErrNoAward = errors.New("codons: no bidder delivered")

// end is the error of the allocation: nil when someone delivered.
func (a Allocation) end() error {
	if len(a.Awards) > 0 {
		return nil
	}
	errs := []error{ErrNoAward}
	for _, l := range a.Lost {
		errs = append(errs, l.Err)
	}
	return errors.Join(errs...)
}
