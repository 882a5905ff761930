package rag

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

const withdrawal = `{"reason":"late"}`

// A request that comes after its CANCEL is refused, and so is its copy. Another request with its
// trace id is served.
func TestRequestAfterItsCancel(t *testing.T) {
	c := open(t)
	if m := accept(t, c, frameOf("CANCEL", "A", "B", "ret-c-001", withdrawal)); m.Performative() != performatives.ActCancel {
		t.Fatal(m.Performative())
	}
	accept(t, c, frameOf(typeRetrieval, "C", "B", "ret-c-001", query)) // of another agent
	accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-c-002", query)) // of another trace
	for range 2 {
		all := c.items(frameOf(typeRetrieval, "a", "B", "ret-c-001", query))
		if len(all) != 1 || all[0].Message != nil || !errors.Is(all[0].Err, performatives.CodeCanceled) {
			t.Fatalf("%+v", all)
		}
		expect(t, string(all[0].Answer), map[string]string{
			"type": typeError, "receiver": "a", "payload.original_request.trace_id": "ret-c-001", "payload.original_request.type": typeRetrieval,
		})
		if !strings.Contains(string(all[0].Answer), "cancel") {
			t.Errorf("%s", all[0].Answer)
		}
	}
	accept(t, c, frameOf(typeResponse, "A", "B", "ret-c-001", `{"user_query":"q","context_chunks":[]}`))
}

// A CANCEL of a request that has ended is not for the next one with its trace id.
func TestCancelOfAnEndedRequest(t *testing.T) {
	c := open(t)
	m := accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-c-001", query))
	write(t, c, reply(t, m, performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed}))
	accept(t, c, frameOf("CANCEL", "A", "B", "ret-c-001", withdrawal))
	accept(t, c, frameOf(typeResponse, "A", "B", "ret-c-001", `{"user_query":"q","context_chunks":[]}`))
}

// A request of this node that is written after its CANCEL is refused instead, and others are
// written.
func TestOwnRequestAfterItsCancel(t *testing.T) {
	c := open(t)
	m := request(t, "A", "B", "retrieval_request", query)
	cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: noon}, performatives.Cancel{Reason: "late"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, cancel)
	for range 2 {
		var r *performatives.Refusal
		if out, err := wiretest.Encode(t, c, m); !errors.As(err, &r) || r.Code != performatives.CodeCanceled || r.About != m.ID() || len(out) != 0 {
			t.Errorf("%v, written %s", err, out)
		}
	}
	other, err := m.With(func(e *performatives.Envelope) { e.ID, e.ReplyWith = "other", "" })
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, other)
}

// What is remembered of CANCELs and of requests is bounded.
func TestCancelsAreBounded(t *testing.T) {
	c := open(t)
	for i := range 3000 {
		accept(t, c, frameOf("CANCEL", "A", "B", fmt.Sprintf("ret-%d-001", i), withdrawal))
		m := accept(t, c, frameOf(typeRetrieval, "A", "B", fmt.Sprintf("llm-%d-001", i), query))
		write(t, c, reply(t, m, performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed}))
	}
	if early, ended := c.withdrawn.Len(); early < 512 || early > 1024 || ended < 512 || ended > 1024 {
		t.Errorf("%d CANCELs and %d requests are remembered", early, ended)
	}
}
