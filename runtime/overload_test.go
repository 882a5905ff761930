package runtime_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// TestOverload has askers keep all processors busy with more tasks than they can do, until the
// node has refused one. Meanwhile an agent with little to do performs each of its tasks, and
// URGENT tasks of the agent with too many are performed, too.
func TestOverload(t *testing.T) {
	n := newNode(t, runtime.Options{})
	perform := func(ctx context.Context, task delegation.Task) (performatives.InformResult, error) {
		for end := time.Now().Add(2 * time.Millisecond); task.TaskType == "compute" && time.Now().Before(end); {
			_ = ctx // it computes, and does not wait
		}
		return performatives.InformResult{Status: performatives.StatusSuccess}, nil
	}
	for _, id := range []performatives.AgentID{"hot", "quiet"} {
		if err := n.Spawn(t.Context(), id, returning(worker{perform})); err != nil {
			t.Fatal(err)
		}
	}
	overload := make(chan events.Overload, 100)
	sub := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindNodeOverload}})
	defer sub.Close()
	sub.Handle(func(r events.Record) { overload <- r.Event.(events.Overload) })

	var over atomic.Bool
	var refused atomic.Int64
	var asking sync.WaitGroup
	for range 100 * goruntime.GOMAXPROCS(0) {
		asking.Go(func() {
			for !over.Load() {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				_, err := n.Delegate(ctx, "hot", performatives.TaskRequest{TaskType: "compute"})
				cancel()
				var r *performatives.Refusal
				switch {
				case err == nil, errors.Is(err, context.DeadlineExceeded):
				case errors.Is(err, performatives.CodeBusy):
					if errors.As(err, &r) && r.RetryAfter > 0 { // not by a mailbox
						refused.Add(1)
					}
				default:
					t.Errorf("the node says: %v", err)
					return
				}
			}
		})
	}
	if e := <-overload; !e.Refusing {
		t.Errorf("%+v", e)
	}
	for range 5 {
		for _, to := range []performatives.AgentID{"hot", "quiet"} {
			priority := performatives.Normal
			if to == "hot" {
				priority = performatives.Urgent
			}
			if _, err := n.Delegate(t.Context(), to, performatives.TaskRequest{TaskType: "compute"}, codons.WithPriority(priority)); err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
	}
	over.Store(true)
	asking.Wait()
	if refused.Load() == 0 {
		t.Error("no asker was told")
	}
	for n.Counts().Refusing {
		<-overload
	}
	if c := n.Counts(); c.Overload == 0 || c.Refusing || c.Queued != 0 {
		t.Errorf("%+v", c)
	}
}
