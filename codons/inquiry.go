package codons

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrQuestionOpen says that a handler has asked already, and has no answer yet.
var ErrQuestionOpen = errors.New("codons: a question is open")

// NeedInput asks the asker for what the work lacks, and waits for the answer: a
// further round of the conversation, in which the handler goes on where it was
// (addenda §3). May be called only by PerformTask, for one question at a time
// ([ErrQuestionOpen]). Progress that is reported meanwhile is not sent.
//
// The error is the cause of the end of ctx: of PerformTask's, when the asker gives no
// answer (then [ErrCanceled]), at the deadline, or when the agent stops; or of a ctx
// of its own, when the handler would rather go on without after a while. It may then
// finish or fail, but not ask again before the answer to its first question has come.
//
// A worker that would rather not keep a handler waiting returns a partial result that
// asks for more; the further round then begins with ConsiderTask.
func (t Task) NeedInput(ctx context.Context, question string) (performatives.TaskRequest, error) {
	return t.NeedInputFor(ctx, performatives.InformResult{
		Status: performatives.StatusPartial, Details: performatives.ContentOf(inputRequest{question}),
	})
}

// NeedInputFor is [Task.NeedInput] with all of the partial result: its status is
// partial_success, and its details say what is needed as request_for_user.
func (t Task) NeedInputFor(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, error) {
	if r.RequestForUser() == "" {
		return performatives.TaskRequest{}, errNoQuestion
	}
	return t.ask(ctx, r)
}

var errNoQuestion = &performatives.Refusal{
	Code: performatives.CodeInvalidPayload, Field: "result_details.request_for_user",
	Text: "result_details.request_for_user: want what is needed, got nothing",
}

// inputRequest is the content of a partial result that asks for more.
type inputRequest struct {
	Request string `json:"request_for_user"`
}

// asked is a partial result whose handler waits.
type asked struct{ performatives.InformResult }

// askedTwice is what an asker learns of a handler that ends with a question while
// another is open.
var askedTwice = performatives.Failure{
	ErrorCode: performatives.CodeInternal, ErrorText: "the worker asked for more before it had its answer",
}

// inquiry is what a handler waits for.
type inquiry struct {
	open   atomic.Bool // asked, and not answered; a handler that has gone on without leaves it so
	answer chan *performatives.Message
}

// ask runs on the handler's goroutine, or on one of its own.
func (q *inquiry) ask(ctx context.Context, h *handler, r performatives.InformResult) (performatives.TaskRequest, error) {
	if !q.open.CompareAndSwap(false, true) {
		return performatives.TaskRequest{}, ErrQuestionOpen
	}
	answer := make(chan *performatives.Message, 1)
	q.answer = answer // the conversation reads it after the word below
	if err := h.say(commandAsk, asked{r}); err != nil {
		return performatives.TaskRequest{}, err
	}
	select {
	case m := <-answer:
		return performatives.PayloadAs[performatives.TaskRequest](m)
	case <-ctx.Done():
		return performatives.TaskRequest{}, context.Cause(ctx)
	case <-h.ctx.Done():
		return performatives.TaskRequest{}, context.Cause(h.ctx)
	}
}

// answered runs on the conversation's actor.
func (q *inquiry) answered(m *performatives.Message) {
	answer := q.answer
	q.open.Store(false)
	answer <- m // there is room for one, and one comes
}
