package codons_test

import (
	"context"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
)

// TestEndedConversationIsCollected checks that neither a timer nor the caller's ctx keeps a
// conversation that has ended, although its deadline and the end of that ctx are far away.
func TestEndedConversationIsCollected(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := func() weak.Pointer[delegation.Delegated] {
			d, err := delegation.Start(ctx, w.Eddy, "Jules", kit.Task(), codons.WithRetry(codons.NoRetry()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Wait(); err != nil {
				t.Fatal(err)
			}
			return weak.Make(d)
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		for range 3 {
			goruntime.GC()
		}
		if ended.Value() != nil {
			t.Error("the conversation is still reachable")
		}
	})
}
