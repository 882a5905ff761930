package auth

import (
	"errors"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrNoKey means that a token is signed with a key that is not known.
var ErrNoKey = errors.New("auth: the key is not known")

// Unchecked is the text of the refusal, with CodeInternal, that a peer gets when the fault
// is ours, such as that the keys cannot be fetched.
const Unchecked = "credentials cannot be checked at the moment"

// RejectedError is why credentials were not accepted, for the owner of the server. A peer
// gets the refusal that it unwraps to, which says at most [Unchecked].
type RejectedError struct {
	Method string // of the authenticator, such as jwt
	Reason string // safe to log
	Err    error  // what led to it, or nil; safe to log
	ours   bool
}

func rejected(method, reason string) error { return &RejectedError{Method: method, Reason: reason} }

// Error returns the method, the reason and what led to it.
func (e *RejectedError) Error() string {
	text := "auth: " + e.Method + ": " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the refusal, and what led to it.
func (e *RejectedError) Unwrap() []error {
	r := &performatives.Refusal{Code: performatives.CodeUnauthorized}
	if e.ours {
		r.Code, r.Text = performatives.CodeInternal, Unchecked
	}
	if e.Err == nil {
		return []error{r}
	}
	return []error{r, e.Err}
}
