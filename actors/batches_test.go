package actors

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func agentsOf(records []Record) (ids string) {
	for _, r := range records {
		ids += fmt.Sprint(r.Event.(AgentStopped).Agent)
	}
	return ids
}

// A queue of batches keeps the order, is ready at half of its capacity, and counts what finds it full.
func TestBatches(t *testing.T) {
	var e Events
	b := e.SubscribeBatches(SubscribeOptions{Capacity: 4, Kinds: []Kind{KindAgentStopped}})
	stop := func(ids string) {
		for _, id := range ids {
			e.Publish(AgentStarted{}) // is not wanted
			e.Publish(AgentStopped{Agent: performatives.AgentID(id)})
		}
	}
	ready := func() bool {
		select {
		case <-b.Ready:
			return true
		default:
			return false
		}
	}
	stop("a")
	if ready() {
		t.Error("ready at a quarter")
	}
	stop("bcdef")
	first := b.Take(nil)
	if got := agentsOf(first); got != "abcd" || b.Lost() != 2 || !ready() || ready() {
		t.Errorf("took %s, lost %d", got, b.Lost())
	}
	stop("gh")
	second := b.Take(first)
	if got := agentsOf(second); got != "gh" || !ready() {
		t.Errorf("took %s", got)
	}
	if first[0].Event != nil {
		t.Error("the buffer still refers to events")
	}
	stop("i")
	b.Close()
	b.Close()
	stop("j")
	if got := agentsOf(b.Take(second)); got != "i" || !ready() || len(b.Take(nil)) != 0 {
		t.Errorf("took %s at the end", got)
	}
	if e.subscriptions.Load() != nil {
		t.Error("a closed subscription is kept")
	}
}

func TestBatchesNegativeCapacity(t *testing.T) {
	defer func() {
		if v := recover(); v != "actors: SubscribeOptions.Capacity is -1" {
			t.Error(v)
		}
	}()
	new(Events).SubscribeBatches(SubscribeOptions{Capacity: -1})
}
