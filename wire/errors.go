package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

var (
	// ErrNoCredentials is returned by an [Authenticator] when the peer presented no
	// credentials of a type that the authenticator checks.
	ErrNoCredentials = errors.New("wire: no credentials")
	// ErrClosed is returned for a session or a server that has ended or is closing.
	ErrClosed = errors.New("wire: closed")
	// ErrTooMany is returned for a connection that exceeds [Options].MaxConnections.
	ErrTooMany = errors.New("wire: too many connections")
	// ErrTooManyOfHost is returned for a connection that exceeds [Options].MaxPerHost. It
	// wraps ErrTooMany.
	ErrTooManyOfHost = fmt.Errorf("%w of one host", ErrTooMany)
	// ErrDead means that the peer sent nothing for [KeepAlive].Timeout.
	ErrDead = errors.New("wire: the peer is silent")
	// ErrSlow means that the peer did not read the data sent to it in time.
	ErrSlow     = errors.New("wire: the peer does not read")
	errPanicked = errors.New("wire: a dialect or a handler panicked")
	// errUnanswered means that the peer did not answer an offer of compression, so that this
	// end does not know whether to compress.
	errUnanswered = errors.New("wire: the peer did not answer the offer of compression")
	// ErrHungUp means that the peer ended the connection without a close frame.
	ErrHungUp = errors.New("wire: the peer closed the connection without a close frame")
)

// PeerError is the error of a session that the peer ended with an error frame. Refusal holds
// the peer's code and text. It is nil when the peer sent none.
type PeerError struct{ Refusal *performatives.Refusal }

// Error returns the peer's code and text.
func (e *PeerError) Error() string {
	if e.Refusal == nil {
		return "wire: the peer ended the session with an error"
	}
	return "wire: the peer ended the session: " + e.Refusal.Error()
}

// Unwrap returns the refusal, so that errors.Is compares its code.
func (e *PeerError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}

// LimitError is the refusal of a message or connection that exceeds a rate limit.
type LimitError struct {
	Limit      Rate
	RetryAfter time.Duration
}

// Error returns "rate limit exceeded".
func (e *LimitError) Error() string { return "rate limit exceeded" }

// Unwrap returns a refusal with CodeRateLimited.
func (e *LimitError) Unwrap() error {
	return &performatives.Refusal{Code: performatives.CodeRateLimited, Text: e.Error()}
}

// AsRefusal converts any error to the refusal that a peer receives. A
// [*performatives.Refusal] in err's tree is returned unchanged. ErrTooMany and ErrClosed
// become CodeBusy. Any other error becomes CodeInternal without a text, because it may hold
// internal details.
func AsRefusal(err error) *performatives.Refusal {
	var r *performatives.Refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, ErrTooManyOfHost):
		return &performatives.Refusal{Code: performatives.CodeBusy, Text: "too many connections from the same host"}
	case errors.Is(err, ErrTooMany):
		return &performatives.Refusal{Code: performatives.CodeBusy, Text: "too many connections"}
	case errors.Is(err, ErrClosed):
		return &performatives.Refusal{Code: performatives.CodeBusy, Text: "the server is stopping"}
	}
	return &performatives.Refusal{Code: performatives.CodeInternal}
}

// publicText returns the text of err that may be sent to a peer.
func publicText(err error) string {
	r := AsRefusal(err)
	if r.Text != "" {
		return r.Text
	}
	return r.Code.Traits().Text
}
