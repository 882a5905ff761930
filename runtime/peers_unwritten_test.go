package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
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

// A pending request to a peer's agent fails when the agent stops, although its connection
// stays open.
func TestProxyThatStops(t *testing.T) {
	h := newHub(t, noPeerOptions)
	jules := newCaller(t, h, nil)
	jules.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	jules.answer(1)
	d, err := delegation.Start(within(t), h, "Jules", task("debug_code"), codons.WithRetry(codons.NoRetry()))
	if err != nil {
		t.Fatal(err)
	}
	jules.answer(2)
	if err := h.StopAgent(within(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("the asker is told %v", err)
	}
}
