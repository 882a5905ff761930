package codons

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// EndError is the error of a conversation that ended without a result. It wraps the Refusal, so
// [errors.Is] finds its code, and the Cause. It is the caller's.
type EndError struct {
	Protocol string                // Protocol is the name of the codon.
	Peer     performatives.AgentID // Peer is the agent on the other side.
	State    machine.State         // State is the terminal state of the caller's side.
	Refusal  performatives.Refusal // Refusal has the code, the text and the sender of the refusal. Its Act is zero when no message of the peer carried it.
	Cause    error                 // Cause is the end of the caller's context, or the fault of the result; context.DeadlineExceeded if the deadline has passed; nil without one.
}

// Error returns the codon, the peer, the state and the reason.
func (e *EndError) Error() string {
	if e.Refusal.Code == "" {
		return fmt.Sprintf("%s with %s: %s: %v", e.Protocol, e.Peer, e.State, e.Cause)
	}
	reason := e.Refusal
	reason.From = ""
	text := fmt.Sprintf("%s with %s: %s: %s", e.Protocol, e.Peer, e.State, reason.Error())
	if e.Cause == nil || e.Cause == context.Canceled || e.Cause == context.DeadlineExceeded { //nolint:errorlint // these say no more than the code
		return text
	}
	return fmt.Sprintf("%s: %v", text, e.Cause)
}

// Unwrap returns the refusal and the cause, where there are any.
func (e *EndError) Unwrap() []error {
	var errs []error
	if e.Refusal.Code != "" {
		errs = append(errs, &e.Refusal)
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	return errs
}

// Unreadable returns the [*EndError] of a conversation whose last message has a content that
// this side cannot read.
func (c *Conversation) Unreadable(err error) error {
	e := &EndError{Protocol: c.machine.Name(), Peer: c.key.Peer, State: c.at.State, Cause: err}
	if r := performatives.RefusalOf(err); r != nil {
		e.Refusal, e.Cause = *r, nil
	}
	return e
}

// PayloadOf returns the payload of the message that ended a conversation. The error is that of
// [Conversation.Unreadable].
func PayloadOf[T any](c *Conversation, last *performatives.Message) (T, error) {
	v, err := performatives.PayloadAs[T](last)
	if err != nil {
		err = c.Unreadable(err)
	}
	return v, err
}

// Rejected returns the [*EndError] of a conversation in which this side rejected the peer's
// offer.
func (c *Conversation) Rejected(r performatives.Refusal) error {
	return &EndError{Protocol: c.machine.Name(), Peer: c.key.Peer, State: c.at.State, Refusal: r}
}

// abandonError returns the [*EndError] of a conversation that never began.
func (c *Conversation) abandonError(cause error) error {
	e := &EndError{Protocol: c.machine.Name(), Peer: c.key.Peer, State: standard.StateAbandoned, Cause: cause}
	switch {
	case errors.Is(cause, actors.ErrStopped):
		e.Refusal = performatives.Refusal{Code: performatives.CodeStopped, From: c.agent.ID()}
	case errors.Is(cause, context.DeadlineExceeded):
		e.Refusal = performatives.Refusal{Code: performatives.CodeExpired, From: c.agent.ID()}
	case errors.Is(cause, context.Canceled):
		e.Refusal = performatives.Refusal{Code: performatives.CodeCanceled, From: c.agent.ID()}
	}
	return e
}

// EndError returns the [*EndError] of a conversation that ended without a result. last is the
// message that ended it, nil when no message did.
func (c *Conversation) EndError(last *performatives.Message) error {
	e := &EndError{Protocol: c.machine.Name(), Peer: c.key.Peer, State: c.at.State}
	if last != nil {
		if r := last.AsRefusal(); r != nil {
			e.Refusal = *r
		}
	}
	if code, ok := c.event.lostPeer(); ok {
		e.Refusal = performatives.Refusal{Code: code, Text: code.Traits().Text, From: c.key.Peer}
		if c.lost != nil && c.lost.Text != "" {
			e.Refusal.Text = c.lost.Text
		}
	}
	if cause := c.withdrawn.Load(); cause != nil {
		e.Cause = (*cause)()
	}
	if e.Cause == nil && actors.DeadlinePassed(c.first.ReplyBy(), c.event.At) {
		e.Cause = context.DeadlineExceeded
	}
	switch c.at.State { //nolint:exhaustive // the states that no refusal of the peer brings about
	case standard.StateTimedOut:
		e.Refusal = performatives.Refusal{Code: performatives.CodeTimeout, From: c.key.Peer}
		if e.Cause == nil { // the deadline of a later stage
			e.Cause = context.DeadlineExceeded
		}
	case standard.StateCancelled:
		e.Refusal = performatives.Refusal{Code: performatives.CodeCanceled, From: c.key.Peer}
	case standard.StateAbandoned:
		e.Refusal = performatives.Refusal{Code: performatives.CodeStopped, From: c.agent.ID()}
	case standard.StateMisread:
		why, _ := c.event.Data.(performatives.NotUnderstood)
		e.Refusal = performatives.Refusal{
			Act: performatives.ActNotUnderstood, Code: cmp.Or(why.ReasonCode, performatives.CodeUnexpectedAct), Text: why.ReasonText, From: c.agent.ID(), About: idOf(c.event.Message),
		}
	}
	return e
}
