package performatives

import "time"

// Failure is the content of FAILURE: an action that was agreed to could not be
// carried out (acl §4.6).
type Failure struct {
	ErrorCode  Code          `json:"error_code"`
	ErrorText  string        `json:"error_text"`
	RetryAfter time.Duration `json:"retry_after_ms"` // see [Refusal]
	Extra      Members       `json:"-" status:"failure"`
}

// Act returns [ActFailure].
func (Failure) Act() Performative { return ActFailure }

// NotUnderstood is the content of NOT_UNDERSTOOD: the receiver could not interpret the
// message (acl §4.7).
type NotUnderstood struct {
	ReasonCode Code    `json:"reason_code"` // such as [CodeInvalidPayload]
	ReasonText string  `json:"reason_text"`
	Extra      Members `json:"-"`
}

// Act returns [ActNotUnderstood].
func (NotUnderstood) Act() Performative { return ActNotUnderstood }

// Refuse is the content of REFUSE: the receiver declines the request (FIPA refuse). acl
// defines no payload for it; the members are those of TASK_REJECT.
type Refuse struct {
	ReasonCode Code          `json:"reason_code"`
	ReasonText string        `json:"reason_text"`
	RetryAfter time.Duration `json:"retry_after_ms"` // see [Refusal]
	Extra      Members       `json:"-"`
}

// Act returns [ActRefuse].
func (Refuse) Act() Performative { return ActRefuse }

// Cancel is the content of CANCEL: the sender withdraws its request of this
// conversation. The answer is a receipt, an INFORM with a [Receipt], once the handler
// has returned; or FAILURE (FIPA cancel meta-protocol, addenda §6).
type Cancel struct {
	Reason string  `json:"reason"`
	Extra  Members `json:"-"`
}

// Act returns [ActCancel].
func (Cancel) Act() Performative { return ActCancel }

// Receipt is the content of the INFORM that answers a CANCEL: the handler of the
// request has returned.
type Receipt struct {
	Text  string  `json:"text"`
	Extra Members `json:"-" status:"done,any"`
}

// Act returns [ActInform].
func (Receipt) Act() Performative { return ActInform }
