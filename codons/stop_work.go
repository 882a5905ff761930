package codons

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrOperator is the cause of the end of a handler's context after [StopWork].
var ErrOperator = errors.New("codons: an operator has stopped the work")

// ByOperator returns [ErrOperator] with a reason, for [Withdraw] and [StopWork]. Peers read the
// reason, so that it must not contain what they may not know, such as the name of the operator. An
// empty reason adds nothing.
func ByOperator(reason string) error {
	if reason == "" {
		return ErrOperator
	}
	return fmt.Errorf("%w: %s", ErrOperator, reason)
}

// operatorText returns the text for the peers of an error of ByOperator.
func operatorText(cause error) string { return strings.TrimPrefix(cause.Error(), "codons: ") }

// canceledBy returns the content of the CANCEL by an operator; nil for another cause.
func canceledBy(cause error) any {
	if !errors.Is(cause, ErrOperator) {
		return nil
	}
	return performatives.Cancel{Reason: operatorText(cause)}
}

// The errors of [StopWork].
var (
	// ErrNoWork says that no responder's side with the id is under way in the system.
	ErrNoWork = errors.New("codons: no responder has this conversation under way")
	// ErrNoStop says that the table of the codon has no row for the command [standard.CommandStop]
	// in the state of the responder.
	ErrNoStop = errors.New("codons: the table of the codon has no row by which the responder can end here")
)

// StopWork ends the responders' sides with a conversation id on behalf of an operator, and returns
// at once. Mostly there is one; a program that asks several agents may use one id for all of them.
// It is for an initiator that [Withdraw] cannot reach, such as a program that has connected to a
// node. It is no CANCEL: the initiator has sent none, and would not understand the receipt.
//
//   - While a handler runs, its context ends with the cause, which is [ErrOperator] or wraps it
//     (see [ByOperator]), so that the conversations which it has begun are withdrawn. An error that
//     the handler returns then is sent as a FAILURE with [performatives.CodeCanceled], or with
//     [performatives.CodeStillRunning] if a conversation below it has perhaps not stopped. A result
//     is sent as usual, also that of a handler which has returned before.
//   - Without a handler, and if the handler has not returned after the grace, the row of the table
//     for [standard.CommandStop] ends the conversation. Its FAILURE has one of the same codes. The
//     text of a FAILURE is that of the cause.
//
// A conversation that the initiator has cancelled goes on to its receipt. The event
// [lifecycle.Ended] of each side has the code. stopped is the number of sides that were told to
// end. The error is [ErrNoStop] if a further one cannot, and [ErrNoWork] if there is none. It may
// be called from any goroutine.
func StopWork(system *actors.System, id performatives.ConversationID, cause error) (stopped int, err error) {
	for c := range system.ConversationsWith(id) {
		c, ok := c.(*Conversation)
		if !ok || c.key.Initiator || c.Over() {
			continue
		}
		at := c.Info().State
		if at != machine.Idle && c.machine.Find(machine.Responder, at, machine.Commanded(standard.CommandStop)) == nil {
			err = ErrNoStop
			continue
		}
		stopped++
		c.Do(func() { c.stopWork(cause) })
	}
	if stopped == 0 && err == nil {
		err = ErrNoWork
	}
	return stopped, err
}

// stopWork stops the handler that runs, if one does, and else ends the conversation, after the last
// command of a handler that has returned.
func (c *Conversation) stopWork(cause error) {
	if c.ends() || c.stopHandler(cause) {
		return
	}
	c.Do(func() { c.stopNow(cause) }) // behind the last command of a handler that has returned
}

// stopNow is stopWork where no last command is to come.
func (c *Conversation) stopNow(cause error) {
	if c.ends() || c.at.State == machine.Idle || c.stopHandler(cause) {
		return
	}
	c.take(Input{On: machine.Commanded(standard.CommandStop), Data: operatorFailure(stoppedCode(c.work.quiet() == standard.CommandStopped), cause)})
}

// ends reports whether the conversation has ended, or the table is about to send the receipt.
func (c *Conversation) ends() bool { return c.over.Load() || c.cancel != nil }

// stopHandler stops the handler that runs. It reports false if none does.
func (c *Conversation) stopHandler(cause error) (running bool) {
	s, ok := c.side.(interface {
		stopHandler(cause error) (running bool)
	})
	return ok && s.stopHandler(cause)
}

// stopLate ends the conversation although its handler has not returned.
func (c *Conversation) stopLate(cause error) {
	if !c.ends() {
		c.take(Input{On: machine.Commanded(standard.CommandStop), Data: operatorFailure(performatives.CodeStillRunning, cause)})
	}
}

// stopHandler stops the handler that runs. It reports false if none does.
func (s *ResponderSide) stopHandler(cause error) (running bool) {
	return s.handler != nil && s.handler.stop(cause, s.Times().Grace)
}

// stop ends the handler's context on behalf of an operator. It reports false if the handler has
// returned and the conversation has its last command, or gets it next. The conversation ends after
// the grace, or after a last command by which it does not end.
func (h *Handler) stop(cause error, grace time.Duration) (running bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told {
		return false
	}
	h.cancel(cause)
	if h.stopped == nil && !h.returned {
		c := h.conversation
		h.overdue = c.agent.System().AfterFunc(grace, func() { c.Do(func() { c.stopLate(cause) }) })
	}
	h.stopped = cause
	return true
}

// stoppedCode returns the code of the FAILURE after an operator has stopped the work.
func stoppedCode(stopped bool) performatives.Code {
	if stopped {
		return performatives.CodeCanceled
	}
	return performatives.CodeStillRunning
}

func operatorFailure(code performatives.Code, cause error) performatives.Failure {
	text := operatorText(cause)
	if code == performatives.CodeStillRunning {
		text += ", and parts of it perhaps still run"
	}
	return performatives.Failure{ErrorCode: code, ErrorText: text}
}
