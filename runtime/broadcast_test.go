package runtime_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// noticeRecorder sends the agent's id to a channel for each notice.
type noticeRecorder struct{ heard chan<- performatives.AgentID }

func (noticeRecorder) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (l noticeRecorder) HandleNotice(_ context.Context, n notify.Notice) { l.heard <- n.Agent.ID() }

// A broadcast notice reaches every agent except its sender, and fails when there is no
// other agent.
func TestBroadcastOfANotice(t *testing.T) {
	n := newNode(t, runtime.Options{})
	content := map[string]any{"text": "rain"}
	if err := notify.Broadcast(n, content); !errors.Is(err, performatives.CodeUnknownAgent) {
		t.Errorf("to nobody: %v", err)
	}
	if err := notify.Broadcast(n, 3); !errors.Is(err, performatives.CodeInvalidPayload) {
		t.Errorf("a number for a content: %v", err)
	}
	heard := make(chan performatives.AgentID, 8)
	for _, id := range []performatives.AgentID{"a", "b"} {
		if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return noticeRecorder{heard} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := notify.Broadcast(n, content); err != nil {
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

// Each agent that a broadcast does not reach is a dead letter with its id, whether or not
// the broadcast reaches another agent.
func TestBroadcastDeadLetters(t *testing.T) {
	n := newNode(t, runtime.Options{})
	dead := listen(t, n, events.KindMessageDeadLettered)
	content := map[string]any{"text": "rain"}
	for _, id := range []performatives.AgentID{"full1", "full2"} {
		t.Cleanup(blocked(t, n, id, 1))
		if err := n.Send(message(t, "x", id, performatives.ActInform)); err != nil {
			t.Fatal(err)
		}
	}
	if err := notify.Broadcast(n, content); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("to those who are busy: %v", err)
	}
	heard := make(chan performatives.AgentID, 1)
	if err := n.Spawn(patience.Context(t), "a", func() actors.Agent { return noticeRecorder{heard} }); err != nil {
		t.Fatal(err)
	}
	if err := notify.Broadcast(n, content); err != nil {
		t.Error(err)
	}
	<-heard
	var missed []string
	for _, ev := range dead.all() { // Broadcast has published them before it returned
		if d := ev.(events.DeadLetter); d.Code == performatives.CodeBusy {
			missed = append(missed, d.To)
		}
	}
	slices.Sort(missed)
	if want := []string{"full1", "full1", "full2", "full2"}; !slices.Equal(missed, want) {
		t.Errorf("missed %q, want %q", missed, want)
	}
}
