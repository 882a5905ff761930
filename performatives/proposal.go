package performatives

import "time"

// RejectProposal is the content of REJECT_PROPOSAL: the initiator declines the proposal
// (FIPA reject-proposal). No specification defines a payload for it; the members are
// those of TASK_REJECT.
type RejectProposal struct {
	ReasonCode Code          `json:"reason_code"` // [CodeRejected] when another was better
	ReasonText string        `json:"reason_text"`
	RetryAfter time.Duration `json:"retry_after_ms"` // see [Refusal]
	Extra      Members       `json:"-"`
}

// Act returns [ActRejectProposal].
func (RejectProposal) Act() Performative { return ActRejectProposal }
