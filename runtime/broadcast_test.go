package runtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// listening tells a channel of what it is told.
type listening struct{ heard chan<- performatives.AgentID }

func (listening) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (l listening) HandleNotice(_ context.Context, n codons.Notice) { l.heard <- n.Agent.ID() }

// TestBroadcastOfANotice tells everybody but the one who speaks, and says when nobody is there.
func TestBroadcastOfANotice(t *testing.T) {
	n := newNode(t, runtime.Options{})
	content := map[string]any{"text": "rain"}
	if err := codons.Broadcast(n, content); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("to nobody: %v", err)
	}
	if err := codons.Broadcast(n, 3); !errors.Is(err, performatives.CodeInvalidPayload) {
		t.Errorf("a number for a content: %v", err)
	}
	heard := make(chan performatives.AgentID, 8)
	for _, id := range []performatives.AgentID{"a", "b"} {
		if err := n.Spawn(within(t), id, func() actors.Agent { return listening{heard} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := codons.Broadcast(n, content); err != nil {
		t.Fatal(err)
	}
	got := map[performatives.AgentID]int{}
	for range 2 {
		got[<-heard]++
	}
	if got["a"] != 1 || got["b"] != 1 {
		t.Errorf("heard by %v", got)
	}
}

// TestBroadcastAccountsForEverybody: whoever it does not reach is a dead letter each, which
// says who that is, be anybody reached or not.
func TestBroadcastAccountsForEverybody(t *testing.T) {
	n := newNode(t, runtime.Options{})
	var missed []string
	n.System().Events.Listen(func(ev actors.Event) { // Broadcast says so before it returns
		if d, ok := ev.(actors.DeadLetter); ok && d.Code == performatives.CodeBusy {
			missed = append(missed, d.To)
		}
	}, actors.About[actors.DeadLetter]())
	content := map[string]any{"text": "rain"}
	for _, id := range []performatives.AgentID{"full1", "full2"} {
		t.Cleanup(blocked(t, n, id, 1))
		if err := n.Send(message(t, "x", id, performatives.ActInform)); err != nil {
			t.Fatal(err)
		}
	}
	if err := codons.Broadcast(n, content); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("to those who are busy: %v", err)
	}
	heard := make(chan performatives.AgentID, 1)
	if err := n.Spawn(within(t), "a", func() actors.Agent { return listening{heard} }); err != nil {
		t.Fatal(err)
	}
	if err := codons.Broadcast(n, content); err != nil {
		t.Error(err)
	}
	<-heard
	slices.Sort(missed)
	if want := []string{"full1", "full1", "full2", "full2"}; !slices.Equal(missed, want) {
		t.Errorf("missed %q, want %q", missed, want)
	}
}
