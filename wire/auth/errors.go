package auth

import (
	"errors"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrNoKey means that no known key matches the token.
var ErrNoKey = errors.New("auth: the key is not known")

// Unchecked is the text of the refusal, with CodeInternal, that a peer receives when its
// credentials cannot be verified because of a failure of this end, such as an unreachable key
// server.
const Unchecked = "credentials cannot be checked at the moment"

// RejectedError is the reason why credentials were rejected, for the operator's log. The peer
// receives only the refusal that it wraps, whose text is empty or [Unchecked].
type RejectedError struct { // method of the authenticator, such as jwt
	Method   string // of the authenticator, such as jwt
	Reason   string // safe to log
	Err      error  // the cause, or nil; safe to log
	internal bool   // a failure of this end
}

func rejected(method, reason string) error { return &RejectedError{Method: method, Reason: reason} }

// Error returns the method, the reason and the cause.
func (e *RejectedError) Error() string {
	text := "auth: " + e.Method + ": " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the refusal for the peer and the cause.
func (e *RejectedError) Unwrap() []error {
	r := &performatives.Refusal{Code: performatives.CodeUnauthorized}
	if e.internal {
		r.Code, r.Text = performatives.CodeInternal, Unchecked
	}
	if e.Err == nil {
		return []error{r}
	}
	return []error{r, e.Err}
}
