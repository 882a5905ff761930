package runtime_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// passOn has agents pass each notice on to the next of them, by their plain handles, until it
// returns false.
func passOn(t *testing.T, n *runtime.Node, goOn func() bool, ids ...p.AgentID) {
	for i, id := range ids {
		next := ids[(i+1)%len(ids)]
		settle(t, n, id, decider{notice: func(_ context.Context, got notify.Notice) {
			if !goOn() {
				return
			}
			if err := notify.Notify(got.Agent.Self(), next, got.Message.Payload()); err != nil {
				t.Error(err)
			}
		}})
	}
	if err := notify.Notify(n, ids[0], p.ContentOf(map[string]string{"text": "x"})); err != nil {
		t.Error(err)
	}
}

// Agents that notify one another for ever, by plain handles, are named in the log, once a minute,
// and counted.
func TestLoopOfNotices(t *testing.T) {
	for _, ids := range [][]p.AgentID{{"a", "b"}, {"a", "b", "c"}, {"a"}} {
		var log lockedBuffer
		n := newNode(t, runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		over, once := make(chan struct{}), new(sync.Once)
		passOn(t, n, func() bool {
			if n.Counts().Loops < 20 {
				return true
			}
			once.Do(func() { close(over) })
			return false
		}, ids...)
		select {
		case <-over:
		case <-time.After(patience.Time):
			t.Fatalf("%q: no loop was found", ids)
		}
		lines := strings.Count(log.String(), "in a loop")
		if lines == 0 || lines > len(ids) || !strings.Contains(log.String(), "agent="+string(ids[0])) && !strings.Contains(log.String(), "peer="+string(ids[0])) {
			t.Errorf("%q: %d lines:\n%s", ids, lines, log.String())
		}
	}
}

// Agents that notify one another for ever, twice a second, are no loop that matters: of 120 notices
// a minute, each with a chance of 1 in 64, 16 are hardly ever counted. Neither are many notices of
// which none follows from another.
func TestNoLoopOfNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var left atomic.Int32
		left.Store(10_000)
		passOn(t, n, func() bool {
			time.Sleep(500 * time.Millisecond)
			return left.Add(-1) > 0
		}, "a", "b")
		settle(t, n, "c", decider{notice: func(_ context.Context, got notify.Notice) {
			if _, ok := got.Message.Metadata("notice_chain"); ok {
				t.Error("a notice that follows from none is counted")
			}
		}})
		for range 10_000 {
			if err := notify.Notify(n, "c", p.ContentOf(map[string]string{"text": "x"})); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * actors.DefaultStall) // with one processor, another worker has to replace that of the pause
		}
		time.Sleep(2 * time.Hour)
		if c := n.Counts(); c.Loops != 0 || left.Load() != 0 || c.Busy != 0 {
			t.Errorf("%+v, %d notices are left", c, left.Load())
		}
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
