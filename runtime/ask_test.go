package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// noRole is an agent without a role.
type noRole struct{}

func (noRole) Describe() p.Capabilities { return p.Capabilities{} }

// TestAskMistakes checks that Ask names what is wrong, and does not wait for an answer that
// cannot come.
func TestAskMistakes(t *testing.T) {
	node := newNode(t, runtime.Options{})
	if err := node.Spawn(t.Context(), "Silent", func() actors.Agent { return noRole{} }); err != nil {
		t.Fatal(err)
	}
	type own struct{ Name string }
	request := runtime.WithAct(p.ActRequest)
	for name, c := range map[string]struct {
		payload any
		opts    []runtime.AskOption
		code    p.Code
		want    string
	}{
		"no act":            {own{}, nil, p.CodeInvalidPayload, "Node.Ask with WithAct"},
		"no reply expected": {own{}, []runtime.AskOption{runtime.WithAct(p.ActInform)}, p.CodeInvalidPayload, "want an act that expects a reply, got INFORM"},
		"a channel":         {make(chan int), []runtime.AskOption{request}, p.CodeInvalidPayload, "want a struct, a map or Raw"},
		"no role":           {own{}, []runtime.AskOption{request}, p.CodeIncapable, "Silent: the agent has no role that answers REQUEST without a protocol"},
		"no role for the message type": {
			own{},
			[]runtime.AskOption{request, runtime.WithMessageType("REVIEW")},
			p.CodeIncapable,
			"no role that answers REQUEST REVIEW without a protocol",
		},
		"no role in a protocol": {
			own{},
			[]runtime.AskOption{request, func(e *p.Envelope) { e.Protocol = "code-review" }},
			p.CodeIncapable,
			`no role that answers REQUEST of the protocol "code-review"`,
		},
	} {
		_, err := node.Ask(t.Context(), "Silent", c.payload, c.opts...)
		if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
