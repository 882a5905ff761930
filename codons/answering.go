package codons

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/performatives"
)

// receipt answers a CANCEL.
var receipt = performatives.Receipt{Text: "nothing runs any more"}

// cause is why the table has a job stop.
func (c *conversation) cause() error {
	switch c.state.State { //nolint:exhaustive // any other state ends the work with the agent
	case stateCancelling, stateCancelled:
		return ErrCanceled
	case stateTimedOut, stateCompleted: // completed with a partial result, whose handler waited in vain
		return ErrDeadline
	}
	return ErrEnded
}

// failure is what the table reports of its own accord: no handler's word is
// behind it.
func (c *conversation) failure() performatives.Failure {
	code := performatives.CodeStopped
	switch {
	case c.state.State == stateTimedOut:
		code = performatives.CodeTimeout
	case c.cancel != nil:
		code = performatives.CodeStillRunning
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

// failureOf is what a peer learns of a handler's error.
func failureOf(err error) performatives.Failure {
	if r := asRefusal(err); r != nil {
		return performatives.Failure{ErrorCode: r.Code, ErrorText: r.Text}
	}
	code := performatives.CodeFailed
	if errors.Is(err, context.DeadlineExceeded) {
		code = performatives.CodeTimeout
	}
	return performatives.Failure{ErrorCode: code, ErrorText: code.Traits().Text}
}

// turndown is the command, and its content, for a handler's error in a codon that
// has REFUSE: the code of a [*performatives.Refusal] says which act carries it.
func turndown(err error) (string, any) {
	r := asRefusal(err)
	if r == nil {
		return commandFail, failureOf(err)
	}
	switch r.Code.Traits().Carrier { //nolint:exhaustive // what is left is a failure
	case performatives.ActNotUnderstood:
		return commandNotUnderstood, performatives.NotUnderstood{ReasonCode: r.Code, ReasonText: r.Text}
	case performatives.ActTaskReject:
		return commandRefuse, performatives.Refuse{ReasonCode: r.Code, ReasonText: r.Text}
	}
	return commandFail, failureOf(err)
}

// answerWith is the command of an answer, or of a failure when its content is none:
// that is the handler's fault, and the asker must not be left without an answer.
func (c *conversation) answerWith(command string, act performatives.Performative, payload any) (string, any) {
	if err := performatives.CheckPayload(act, payload); err != nil {
		c.self.Logger().Error("the handler's answer is not valid", "conversation", string(c.key.ID), "err", err)
		return commandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the handler returned no valid answer"}
	}
	return command, payload
}

// asFailure is what FAILURE carries when a handler turned down what it had agreed
// to.
func asFailure(data any) any {
	switch p := data.(type) {
	case performatives.Refuse:
		return performatives.Failure{ErrorCode: p.ReasonCode, ErrorText: p.ReasonText}
	case performatives.NotUnderstood:
		return performatives.Failure{ErrorCode: p.ReasonCode, ErrorText: p.ReasonText}
	}
	return data
}

// asReject is what TASK_REJECT carries where a codon turns down by it.
func asReject(data any) any {
	if p, ok := data.(performatives.Refuse); ok {
		return performatives.TaskReject{ReasonCode: p.ReasonCode, ReasonText: p.ReasonText}
	}
	return data
}
