package runtime_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// answerWithoutAccepting replies to a task without accepting it.
func answerWithoutAccepting(c *actors.Context, m *performatives.Message) {
	_ = c.Reply(m, performatives.InformResult{Status: performatives.StatusSuccess})
}

// The watch reports the agent that violates a protocol, and no other.
func TestNodeWatches(t *testing.T) {
	var out buffer
	n := newNode(t, runtime.Options{Watch: &watch.Options{}, Logger: runtime.NewLogger(&out, slog.LevelInfo)})
	r := listen(t, n)
	if err := n.Spawn(patience.Context(t), "a", always(scripted{receive: answerWithoutAccepting})); err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(patience.Context(t), "w", func() actors.Agent { return succeed }); err != nil {
		t.Fatal(err)
	}
	for _, to := range []performatives.AgentID{"w", "a", "w"} {
		if _, err := n.Delegate(patience.Context(t), to, aTask); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Whisper(patience.Context(t), performatives.QueryCapabilities{Type: performatives.QuerySummary}); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(patience.Context(t)); err != nil { // Stop waits until the watch has checked all messages
		t.Fatal(err)
	}
	broken := await[lifecycle.Violation](t, r, 1, nil)
	if v := broken[0]; len(broken) != 1 || v.Sender != "a" || v.Receiver != "node" || v.Got.Act != performatives.ActInformResult {
		t.Errorf("%+v", broken)
	}
	if got := n.WatchCounts(); got.Conversations < 5 || got.Messages < 12 || got.Violations != 1 || got.Dropped != 0 || got.Left != 0 {
		t.Errorf("%+v", got)
	}
	var warnings []map[string]any
	for _, line := range out.lines(t) {
		if line["msg"] == "protocol violated" {
			warnings = append(warnings, line)
		}
	}
	if len(warnings) != 1 || warnings[0]["level"] != "WARN" || warnings[0]["agent"] != "a" || warnings[0]["peer"] != "node" ||
		warnings[0]["performative"] != "INFORM_RESULT" || !strings.Contains(warnings[0]["err"].(string), "expected") {
		t.Errorf("%v", warnings)
	}
}

func TestNodeWithoutWatch(t *testing.T) {
	n := newNode(t, runtime.Options{})
	if err := n.Spawn(patience.Context(t), "w", func() actors.Agent { return succeed }); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Delegate(patience.Context(t), "w", aTask); err != nil {
		t.Fatal(err)
	}
	if got := n.WatchCounts(); got != (watch.Counts{}) || events.Wants[events.MessageSent](n.Events()) {
		t.Errorf("%+v", got)
	}
}

func TestWatchOptionsOfNode(t *testing.T) {
	_, err := runtime.New(runtime.Options{Watch: &watch.Options{Queue: -1}})
	if err == nil || !strings.Contains(err.Error(), "runtime: Options.Watch: ") || !strings.Contains(err.Error(), "Queue") {
		t.Errorf("got %v", err)
	}
}
