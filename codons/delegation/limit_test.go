package delegation_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestMaxTasks(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := make(chan struct{})
		var running, most atomic.Int64
		w.Add("Jules", &kit.Worker{Max: 3, Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
			return kit.Result(p.StatusSuccess), nil
		}})
		var all []*delegation.Delegated
		for range 5 {
			all = append(all, w.Start(t.Context()))
		}
		synctest.Wait()
		close(release)
		busy := 0
		for _, d := range all {
			if _, err := d.Wait(); errors.Is(err, p.CodeBusy) {
				busy++
			} else if err != nil {
				t.Error(err)
			}
		}
		if busy != 2 || most.Load() != 3 {
			t.Errorf("%d were rejected as busy and %d ran at a time, want 2 and 3", busy, most.Load())
		}
		// The slot is released before the result is sent.
		for range 200 {
			if _, err := w.Delegate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// slowDispatcher is a dispatcher whose Schedule returns a second later than usual, once, after
// slow was set.
type slowDispatcher struct{ slow atomic.Bool }

func (d *slowDispatcher) Schedule(fn func()) {
	go fn()
	if d.slow.Swap(false) {
		time.Sleep(time.Second)
	}
}

func (*slowDispatcher) Throughput() int { return 300 }

// TestSlotIsReleasedBeforeTheResult delays the goroutine of the handler while it sends the
// result: the initiator's next task finds a free slot all the same.
func TestSlotIsReleasedBeforeTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDispatcher{}
		w := kit.NewWorld(t, codons.Times{}, actors.Options{Dispatcher: d})
		w.Add("Jules", &kit.Worker{Max: 1, Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			time.Sleep(time.Millisecond) // until everything else waits
			d.slow.Store(true)
			return kit.Result(p.StatusSuccess), nil
		}})
		for range 5 {
			if _, err := w.Delegate(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.End()
		time.Sleep(time.Second)
	})
}
