package performatives

import "time"

// Failure is the content of FAILURE: an action that was agreed to could not be
// carried out (acl §4.6).
type Failure struct {
	ErrorCode  Code          `json:"error_code"`
	ErrorText  string        `json:"error_text"`
	RetryAfter time.Duration `json:"retry_after_ms"` // see [Refusal]
	Extra      Members       `json:"-"`
}

// Act returns [ActFailure].
func (Failure) Act() Performative { return ActFailure }

// MarshalJSON writes the fields that are set, the status "failure", then Extra.
func (f Failure) MarshalJSON() ([]byte, error) {
	return marshalStatus(f.fields(), "failure", f.Extra)
}

// UnmarshalJSON reads an object and keeps members without a field in Extra.
func (f *Failure) UnmarshalJSON(b []byte) (err error) {
	f.Extra, err = unmarshalStatus(b, f.fields(), "failure")
	return err
}

// NotUnderstood is the content of NOT_UNDERSTOOD: the receiver could not interpret the
// message (acl §4.7).
type NotUnderstood struct {
	ReasonCode Code    `json:"reason_code"` // such as [CodeInvalidPayload]
	ReasonText string  `json:"reason_text"`
	Extra      Members `json:"-"`
}

// Act returns [ActNotUnderstood].
func (NotUnderstood) Act() Performative { return ActNotUnderstood }

// MarshalJSON writes the fields that are set, then Extra.
func (n NotUnderstood) MarshalJSON() ([]byte, error) { return marshalMembers(n.fields(), n.Extra) }

// UnmarshalJSON reads an object and keeps members without a field in Extra.
func (n *NotUnderstood) UnmarshalJSON(b []byte) (err error) {
	n.Extra, err = unmarshalMembers(b, n.fields())
	return err
}

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

// MarshalJSON writes the fields that are set, then Extra.
func (r Refuse) MarshalJSON() ([]byte, error) { return marshalMembers(r.fields(), r.Extra) }

// UnmarshalJSON reads an object and keeps members without a field in Extra.
func (r *Refuse) UnmarshalJSON(b []byte) (err error) {
	r.Extra, err = unmarshalMembers(b, r.fields())
	return err
}

// Cancel is the content of CANCEL: the sender withdraws its request of this
// conversation. The answer is a receipt, an INFORM with a [Receipt], once the handler
// has returned; or FAILURE (FIPA cancel meta-protocol, addenda §6).
type Cancel struct {
	Reason string  `json:"reason"`
	Extra  Members `json:"-"`
}

// Act returns [ActCancel].
func (Cancel) Act() Performative { return ActCancel }

// MarshalJSON writes the fields that are set, then Extra.
func (c Cancel) MarshalJSON() ([]byte, error) { return marshalMembers(c.fields(), c.Extra) }

// UnmarshalJSON reads an object and keeps members without a field in Extra.
func (c *Cancel) UnmarshalJSON(b []byte) (err error) {
	c.Extra, err = unmarshalMembers(b, c.fields())
	return err
}

// Receipt is the content of the INFORM that answers a CANCEL: the handler of the
// request has returned.
type Receipt struct {
	Text  string  `json:"text"`
	Extra Members `json:"-"`
}

// Act returns [ActInform].
func (Receipt) Act() Performative { return ActInform }

// MarshalJSON writes the fields that are set, the status "done", then Extra.
func (r Receipt) MarshalJSON() ([]byte, error) {
	return marshalStatus(r.fields(), "done", r.Extra)
}

// UnmarshalJSON reads an object and keeps members without a field in Extra.
func (r *Receipt) UnmarshalJSON(b []byte) (err error) {
	r.Extra, err = unmarshalMembers(b, r.fields())
	return err
}
