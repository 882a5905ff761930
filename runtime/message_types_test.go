package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// review is an application's payload, whose type implies no act.
type review struct {
	File string `json:"file"`
}

// verdict is an application's payload.
type verdict struct {
	File string `json:"file"`
	Fine bool   `json:"fine"`
}

// reviewer answers a REVIEW_REQUEST and a REVIEW_TASK, and tells of every REVIEW_SEEN.
func reviewer(seen chan<- string) func() actors.Agent {
	return always(scripted{topics: []string{"review"}, receive: func(c *actors.Context, m *performatives.Message) {
		p, err := performatives.PayloadAs[review](m)
		if err != nil {
			return
		}
		act := map[string]performatives.Performative{
			"REVIEW_REQUEST": performatives.ActInform, "REVIEW_TASK": performatives.ActInformResult,
		}[m.MessageType()]
		if act == 0 {
			seen <- m.Performative().String() + " " + m.MessageType() + " " + p.File
			return
		}
		reply, err := m.ReplyAs(c.Stamp(), act, verdict{p.File, true})
		if err == nil {
			reply, err = reply.With(func(e *performatives.Envelope) { e.MessageType = "REVIEW_DONE" })
		}
		if err == nil {
			err = c.Send(reply)
		}
		if err != nil {
			seen <- err.Error()
		}
	}})
}

// An application's message type arrives under its own name, whichever transport and
// dialect carry it, and from either end.
func TestMessageTypesOverTransports(t *testing.T) {
	seen := make(chan string, 1)
	everywhere(t, crew{"Ada": reviewer(seen)}, crew{"Bob": reviewer(seen)}, func(t *testing.T, h *hub, o *outpost, _ **wire.Session) {
		for to, asker := range map[performatives.AgentID]*runtime.Node{"Bob": h.Node, "Ada": o.Node} {
			for name, act := range map[string]performatives.Performative{
				"REVIEW_REQUEST": performatives.ActRequest, "REVIEW_TASK": performatives.ActTaskRequest,
			} {
				checkReview(t, asker, to, name, act)
			}
			if err := asker.Send(message(t, asker.Self().ID(), to, performatives.ActInform, func(e *performatives.Envelope) {
				e.MessageType, e.Payload = "REVIEW_SEEN", review{"b.go"}
			})); err != nil {
				t.Error(err)
			}
			select {
			case got := <-seen:
				if got != "INFORM REVIEW_SEEN b.go" {
					t.Errorf("%s has received %s", to, got)
				}
			case <-patience.Context(t).Done():
				t.Errorf("%s has received nothing", to)
			}
		}
	})
}

func checkReview(t *testing.T, asker *runtime.Node, to performatives.AgentID, name string, act performatives.Performative) {
	t.Helper()
	answer, err := asker.Ask(patience.Context(t), to, review{"a.go"}, runtime.WithAct(act), runtime.WithMessageType(name))
	if err != nil {
		t.Errorf("%s to %s: %v", name, to, err)
		return
	}
	want := map[performatives.Performative]performatives.Performative{
		performatives.ActRequest: performatives.ActInform, performatives.ActTaskRequest: performatives.ActInformResult,
	}[act]
	got, err := performatives.PayloadAs[verdict](answer)
	if err != nil || got != (verdict{"a.go", true}) || answer.MessageType() != "REVIEW_DONE" || answer.Performative() != want {
		t.Errorf("%s to %s: %s %s with %+v, %v", name, to, answer.Performative(), answer.MessageType(), got, err)
	}
}

func TestAskNeedsAnAct(t *testing.T) {
	n := newNode(t, runtime.Options{Name: "n"})
	_, err := n.Ask(patience.Context(t), "Ada", review{"a.go"})
	var r *performatives.Refusal
	if !errors.As(err, &r) || r.Field != "performative" {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"runtime_test.review", "Act() performatives.Performative", "WithAct"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
}
