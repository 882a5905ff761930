package delegation

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrQuestionOpen is the error of [Task.NeedInput] while an earlier question of the same
// handler has no answer.
var ErrQuestionOpen = errors.New("delegation: an earlier question has no answer yet")

// NeedInput sends a question to the initiator and waits for the answer: the TASK_REQUEST of a
// further round, in which the same handler continues (addenda §3). Only PerformTask may call
// it, for one question at a time ([ErrQuestionOpen]). Progress that is reported while a
// question is open is not sent.
//
// When ctx ends first, the error is its cause. The ctx of PerformTask ends when the initiator
// gives no answer ([codons.ErrCanceled]), at the deadline ([codons.ErrDeadline]) and when the
// agent stops ([codons.ErrEnded]). A handler that passes a shorter ctx may then finish without
// the answer, or fail; it may ask again only after the first answer has arrived.
//
// A worker that should not keep a handler waiting returns a partial result with a question
// from PerformTask instead. The further round then begins with ConsiderTask.
func (t Task) NeedInput(ctx context.Context, question string) (performatives.TaskRequest, error) {
	return t.NeedInputFor(ctx, performatives.InformResult{
		Status: performatives.StatusPartial, Details: performatives.ContentOf(inputRequest{question}),
	})
}

// NeedInputFor is [Task.NeedInput] with a partial result of the caller's making. Its status
// must be partial_success, and the member request_for_user of its details must be the question.
// Without a question the error is a [*performatives.Refusal] with
// [performatives.CodeInvalidPayload].
func (t Task) NeedInputFor(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, error) {
	if r.RequestForUser() == "" {
		return performatives.TaskRequest{}, errNoQuestion
	}
	return t.ask(ctx, r)
}

var errNoQuestion = &performatives.Refusal{
	Code: performatives.CodeInvalidPayload, Field: "result_details.request_for_user",
	Text: "result_details.request_for_user: want a question, got nothing",
}

// inputRequest is the details of a partial result that asks for more.
type inputRequest struct {
	Request string `json:"request_for_user"`
}

// secondQuestion is the FAILURE of a handler that returns a partial result with a question
// while an earlier question is open.
var secondQuestion = performatives.Failure{
	ErrorCode: performatives.CodeInternal, ErrorText: "the worker asked for more input before it had the answer to its first question",
}

// inquiry is the open question of a handler.
//
// Invariant: answer has room for the one message that answers the question.
type inquiry struct {
	open   atomic.Bool // a question has no answer yet, even when the handler no longer waits for it
	answer chan *performatives.Message
}

// ask sends the question and waits for its answer. It runs on the handler's goroutine, or on
// another one that the handler started.
func (q *inquiry) ask(ctx context.Context, h *codons.Handler, r performatives.InformResult) (performatives.TaskRequest, error) {
	if !q.open.CompareAndSwap(false, true) {
		return performatives.TaskRequest{}, ErrQuestionOpen
	}
	answer := make(chan *performatives.Message, 1)
	q.answer = answer // set before Say, after which the conversation's actor may read it
	if err := h.Say(codons.Command{Name: commandAsk, Data: r}); err != nil {
		return performatives.TaskRequest{}, err
	}
	select {
	case m := <-answer:
		return performatives.PayloadAs[performatives.TaskRequest](m)
	case <-ctx.Done():
		return performatives.TaskRequest{}, context.Cause(ctx)
	case <-h.Done():
		return performatives.TaskRequest{}, h.Cause()
	}
}

// answered hands the answer to the handler. It runs on the conversation's actor.
func (q *inquiry) answered(m *performatives.Message) {
	answer := q.answer
	q.open.Store(false)
	answer <- m
}
