package contractnet

import (
	"fmt"
	"math"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Call is the content of a CFP: the task, and the terms on which it is to be done. The
// ReplyBy of the CFP is the time by which proposals are due.
type Call struct {
	Task performatives.TaskRequest `json:"task"`
	// ResultBy is the time by which a winner has to deliver. The caller may leave it zero:
	// then it is the deadline of ctx, or [codons.DefaultDeadline] from now.
	ResultBy time.Time             `json:"result_by,omitzero"`
	Round    int                   `json:"round,omitempty"` // from 1; set by [Start], whatever the caller put there
	Terms    performatives.Content `json:"terms,omitzero"`  // conditions of the caller, such as a largest cost
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

// Proposal is the content of a PROPOSE: the cost for which the bidder would do the task.
type Proposal struct {
	Cost float64 `json:"cost"` // in a unit that the caller and the bidders agree on
	// ValidUntil is the time until which the bidder is bound. Zero means the call's
	// ResultBy. The caller uses no proposal after ResultBy.
	ValidUntil time.Time             `json:"valid_until,omitzero"`
	Details    performatives.Content `json:"details,omitzero"` // how, when and with which means
}

// Act returns [performatives.ActPropose].
func (Proposal) Act() performatives.Performative { return performatives.ActPropose }

// Validate checks that the cost is a finite number.
func (p Proposal) Validate() error {
	if math.IsNaN(p.Cost) || math.IsInf(p.Cost, 0) {
		return &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "cost", Text: fmt.Sprintf("cost: want a finite number, got %v", p.Cost),
		}
	}
	return nil
}

// until returns the time until which the proposal is of use to a caller that needs the
// result by resultBy.
func (p Proposal) until(resultBy time.Time) time.Time {
	if p.ValidUntil.IsZero() || !resultBy.IsZero() && resultBy.Before(p.ValidUntil) {
		return resultBy
	}
	return p.ValidUntil
}

// Acceptance is the content of an ACCEPT_PROPOSAL. The ReplyBy of the message is the time
// by which the result is due.
type Acceptance struct {
	Proposal Proposal `json:"proposal"` // the accepted one
}

// Act returns [performatives.ActAcceptProposal].
func (Acceptance) Act() performatives.Performative { return performatives.ActAcceptProposal }
