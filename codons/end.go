package codons

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// EndError is a conversation that ended without what it was begun for. It belongs
// to whoever got it.
type EndError struct {
	Protocol string
	Peer     performatives.AgentID
	State    machine.State         // the terminal state of the asker's side
	Refusal  performatives.Refusal // who said no and why; its Act is zero when no message did
	cause    error                 // the end of the caller's context, or nil
}

// Error says who, how and why.
func (e *EndError) Error() string {
	if e.Refusal.Code == "" {
		return fmt.Sprintf("%s with %s: %s: %v", e.Protocol, e.Peer, e.State, e.cause)
	}
	reason := e.Refusal
	reason.From = ""
	return fmt.Sprintf("%s with %s: %s: %s", e.Protocol, e.Peer, e.State, reason.Error())
}

// Unwrap returns the refusal and what ended the caller's context.
func (e *EndError) Unwrap() []error {
	var errs []error
	if e.Refusal.Code != "" {
		errs = append(errs, &e.Refusal)
	}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// unreadable says that the peer's last word makes no sense.
func (c *conversation) unreadable(err error) error {
	e := &EndError{Protocol: c.machine.Name(), Peer: c.peer, State: c.state.State, cause: err}
	if r := asRefusal(err); r != nil {
		e.Refusal, e.cause = *r, nil
	}
	return e
}

// abandonError is the end of a conversation that never began.
func (c *conversation) abandonError(cause error) error {
	e := &EndError{Protocol: c.machine.Name(), Peer: c.peer, State: stateAbandoned, cause: cause}
	switch {
	case errors.Is(cause, actors.ErrStopped):
		e.Refusal = performatives.Refusal{Code: performatives.CodeStopped, From: c.self.ID()}
	case errors.Is(cause, context.DeadlineExceeded):
		e.Refusal = performatives.Refusal{Code: performatives.CodeExpired, From: c.self.ID()}
	case errors.Is(cause, context.Canceled):
		e.Refusal = performatives.Refusal{Code: performatives.CodeCanceled, From: c.self.ID()}
	}
	return e
}

// endError says how a conversation ended that brought no result.
func (c *conversation) endError(last *performatives.Message) error {
	e := &EndError{Protocol: c.machine.Name(), Peer: c.peer, State: c.state.State}
	if last != nil {
		if r := last.AsRefusal(); r != nil {
			e.Refusal = *r
		}
	}
	if left := c.left.Load(); left != nil {
		e.cause = *left
	}
	switch c.state.State { //nolint:exhaustive // the states that no refusal brings about
	case stateTimedOut:
		e.Refusal = performatives.Refusal{Code: performatives.CodeTimeout, From: c.peer}
		if e.cause == nil {
			e.cause = context.DeadlineExceeded
		}
	case stateCancelled:
		e.Refusal = performatives.Refusal{Code: performatives.CodeCanceled, From: c.peer}
	case stateAbandoned:
		e.Refusal = performatives.Refusal{Code: performatives.CodeStopped, From: c.self.ID()}
	}
	return e
}
