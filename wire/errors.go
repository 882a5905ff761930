package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

var (
	// ErrNoCredentials is returned by an [Authenticator] that was shown nothing that
	// it looks at.
	ErrNoCredentials = errors.New("wire: no credentials")
	// ErrClosed is returned for a session or a server that has ended or is about to.
	ErrClosed = errors.New("wire: closed")
	// ErrTooMany is returned for a connection beyond [Options.MaxConnections].
	ErrTooMany = errors.New("wire: too many connections")
	// ErrTooManyOfHost is returned for a connection beyond [Options.MaxPerHost]. It is an
	// ErrTooMany.
	ErrTooManyOfHost = fmt.Errorf("%w of one host", ErrTooMany)
	// ErrDead means that nothing was heard of a peer for [KeepAlive].Timeout.
	ErrDead = errors.New("wire: the peer is silent")
	// ErrSlow means that a peer did not read what was sent to it.
	ErrSlow     = errors.New("wire: the peer does not read")
	errPanicked = errors.New("wire: a dialect or a handler panicked")
	// errUnanswered leaves open in which form the peer reads.
	errUnanswered = errors.New("wire: the peer does not say whether it compresses")
	// ErrHungUp means that a peer ended the connection without saying so.
	ErrHungUp = errors.New("wire: the peer hung up")
)

// PeerError is why a peer gave a session up, as it says.
type PeerError struct{ Refusal *performatives.Refusal }

// Error returns what the peer said.
func (e *PeerError) Error() string {
	if e.Refusal == nil {
		return "wire: the peer gave up"
	}
	return "wire: the peer gave up: " + e.Refusal.Error()
}

// Unwrap returns the refusal, so that errors.Is asks for its code.
func (e *PeerError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}

// LimitError is the refusal of what comes too fast.
type LimitError struct {
	Limit      Rate
	RetryAfter time.Duration
}

// Error returns "rate limit exceeded".
func (e *LimitError) Error() string { return "rate limit exceeded" }

// Unwrap returns the refusal that it is.
func (e *LimitError) Unwrap() error {
	return &performatives.Refusal{Code: performatives.CodeRateLimited, Text: e.Error()}
}

// AsRefusal gives any error the form that a peer gets: a [*performatives.Refusal] in
// err's tree is as it is, a server that is full or stops is busy, and of any other error
// the peer learns nothing.
func AsRefusal(err error) *performatives.Refusal {
	var r *performatives.Refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, ErrTooManyOfHost):
		return &performatives.Refusal{Code: performatives.CodeBusy, Text: "there are too many connections from the same host"}
	case errors.Is(err, ErrTooMany):
		return &performatives.Refusal{Code: performatives.CodeBusy, Text: "there are too many connections"}
	case errors.Is(err, ErrClosed):
		return &performatives.Refusal{Code: performatives.CodeBusy, Text: "the server stops"}
	}
	return &performatives.Refusal{Code: performatives.CodeInternal}
}

// publicText is what a peer may be told of err.
func publicText(err error) string {
	r := AsRefusal(err)
	if r.Text != "" {
		return r.Text
	}
	return r.Code.Traits().Text
}
