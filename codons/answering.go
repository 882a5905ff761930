package codons

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// receipt is the payload of the receipt, the INFORM that answers a CANCEL.
var receipt = performatives.Receipt{Text: "nothing runs any more"}

// Causes of the end of a handler's context, see [context.Cause].
var (
	// ErrCanceled is the cause after CANCEL of the peer.
	ErrCanceled = errors.New("codons: the initiator cancelled the request")
	// ErrDeadline is the cause when the deadline has passed. It wraps
	// [context.DeadlineExceeded].
	ErrDeadline = fmt.Errorf("codons: the deadline of the request has passed: %w", context.DeadlineExceeded)
	// ErrTimer is the cause when another timer of the table has stopped the job, and has its name.
	// The conversation may go on.
	ErrTimer = errors.New("codons: a timer of the table has stopped the job")
	// ErrPeerLost is the cause when the destination of the initiator has gone.
	ErrPeerLost = errors.New("codons: the initiator cannot be reached any more")
	// ErrMisread is the cause when the initiator has not understood a message of this side.
	ErrMisread = errors.New("codons: the initiator has not understood a message")
	// ErrEnded is the cause at any other end of the conversation, such as the stop of its agent,
	// when another row of the table stops the job, and after the handler has returned.
	ErrEnded = errors.New("codons: the conversation has ended")
)

// ErrDeciding is the error of an attempt to begin a conversation with the ctx of a
// [Consideration]. An agent cannot begin one before it has taken the request on.
var ErrDeciding = errors.New("codons: no conversation begins in a decision")

// stopCause returns the cause with which an event of the table stops a job.
func stopCause(on machine.Symbol) error {
	switch {
	case on.Act == performatives.ActCancel:
		return ErrCanceled
	case on.Act == performatives.ActNotUnderstood:
		return ErrMisread
	case on == onDeadline:
		return ErrDeadline
	case on.Kind == machine.KindTimeout:
		return fmt.Errorf("%w: %s", ErrTimer, on.Name)
	case on.Kind == machine.KindPeerLost:
		return ErrPeerLost
	}
	return ErrEnded
}

// Failure returns the payload of a FAILURE that the table sends by itself, without a command of a
// handler. Its code is that of the state: timeout, still running or stopped. It is cautious: after
// NOT_UNDERSTOOD the handler may run for its grace.
func (v *Value) Failure() performatives.Failure {
	code := performatives.CodeStopped
	switch {
	case v.at.State == standard.StateTimedOut:
		code = performatives.CodeTimeout
	case v.cancel != nil, v.misunderstood:
		code = performatives.CodeStillRunning
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

// failureOf is Failure, and after the loss of the peer, or the move of the agent, says so.
func (v *Value) failureOf(e *Input) performatives.Failure {
	if code, ok := e.lostPeer(); ok && v.cancel == nil {
		return performatives.Failure{ErrorCode: code, ErrorText: "the initiator could not be reached, and the work was given up"}
	}
	failure := v.Failure()
	if e.Moves && failure.ErrorCode == performatives.CodeStopped {
		failure = performatives.Failure{ErrorCode: performatives.CodeMoved, ErrorText: performatives.CodeMoved.Traits().Text}
	}
	return failure
}

// FailureOf returns the payload of a FAILURE for a handler's error. A [*performatives.Refusal]
// gives its code and text. Any other error gives a code and a general text, so that the peer
// gets no internal error.
func FailureOf(err error) performatives.Failure {
	if r := performatives.RefusalOf(err); r != nil {
		return performatives.Failure{ErrorCode: r.Code, ErrorText: r.Text, RetryAfter: r.RetryAfter}
	}
	code := performatives.CodeFailed
	if errors.Is(err, context.DeadlineExceeded) {
		code = performatives.CodeTimeout
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

// TurnDown is the function [TurnDown], and logs and publishes the error: see [Handler.Failed].
// Safe for concurrent use.
func (h *Handler) TurnDown(err error) Command {
	h.Failed(err)
	return TurnDown(err)
}

// Fail returns the command FAIL for a handler's error where the request was already taken on. It
// logs and publishes the error: see [Handler.Failed]. Safe for concurrent use.
func (h *Handler) Fail(err error) Command {
	h.Failed(err)
	return Command{standard.CommandFail, FailureOf(err)}
}

// TurnDown returns the command with which a request is turned down for an error. The code of a
// [*performatives.Refusal] decides between [standard.CommandRefuse],
// [standard.CommandNotUnderstood] and [standard.CommandFail]. Any other error is
// [standard.CommandFail].
func TurnDown(err error) Command {
	r := performatives.RefusalOf(err)
	if r == nil {
		return Command{standard.CommandFail, FailureOf(err)}
	}
	switch r.Code.Traits().Carrier { //nolint:exhaustive // any other act is a failure
	case performatives.ActNotUnderstood:
		return Command{standard.CommandNotUnderstood, performatives.NotUnderstood{ReasonCode: r.Code, ReasonText: r.Text}}
	case performatives.ActTaskReject:
		return Command{standard.CommandRefuse, performatives.Refuse{ReasonCode: r.Code, ReasonText: r.Text, RetryAfter: r.RetryAfter}}
	}
	return Command{standard.CommandFail, FailureOf(err)}
}

// Answer returns a command with the payload of an answer. A payload that is not valid for the act
// is logged and published, and makes the command [standard.CommandFail]: the initiator gets an
// answer in any case. Safe for concurrent use.
func (h *Handler) Answer(command string, act performatives.Performative, payload any) Command {
	if err := performatives.CheckPayload(act, payload); err != nil {
		h.Failed(fmt.Errorf("%w: %s: %w", ErrInvalidAnswer, act, err))
		return invalidAnswer
	}
	return Command{command, payload}
}

// refusalAs returns the payload of a refusal as that of another act. One is the FAILURE of a
// handler that turned a request down after it had agreed. Any other payload is returned as it is.
func refusalAs(act performatives.Performative, data any) any {
	r, extra, refuses := performatives.RefusalIn(data)
	if !refuses {
		return data
	}
	r.Act = act
	return r.Payload(extra)
}
