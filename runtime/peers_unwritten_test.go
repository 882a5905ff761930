package runtime_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// When a reply cannot be encoded, the peer gets FAILURE, and the reply is a dead letter.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("Jules", returning(worker{func(context.Context, delegation.Task) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent([]byte(`{"a":}`))}, nil
	}}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(task("list"))))
	if r := c.answer(2).AsRefusal(); r == nil || r.Code != performatives.CodeFailed {
		t.Errorf("told %+v", r)
	}
	if n := h.Counts().DeadLetters; n != 1 {
		t.Errorf("%d dead letters, want the answer", n)
	}
}
