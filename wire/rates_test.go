package wire

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// To be told to wait costs nothing, however many are told at the same time.
func TestRefusalsCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(Rate{Messages: 1, Window: time.Second})
		if err := r.allow("crm"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5000 {
					if err := r.allow("crm"); err == nil {
						t.Error("a message over the rate is let in")
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		if err := r.allow("CRM"); err != nil {
			t.Errorf("after the time that it takes: %v", err)
		}
	})
}

// A flood of names takes bounded room, and most new ones find it without a look at all.
func TestRatesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(Rate{Messages: 2, Window: time.Second})
		next := 0
		flood := func(n int) {
			for range n {
				next++
				if err := r.allow(performatives.AgentID("agent-" + strconv.Itoa(next))); err != nil {
					t.Fatal(err)
				}
			}
		}
		flood(maxLimiters)
		flood(1)
		if n := len(r.by); n > maxLimiters*3/4+1 {
			t.Errorf("%d names are remembered after one too many, want room for more", n)
		}
		flood(maxLimiters / 4)
		if n := len(r.by); n > maxLimiters {
			t.Errorf("%d names are remembered, want at most %d", n, maxLimiters)
		}
		time.Sleep(time.Second)
		flood(maxLimiters - len(r.by) + 1)
		if n := len(r.by); n > maxLimiters/4+1 {
			t.Errorf("%d names are remembered, want those forgotten that have used nothing lately", n)
		}
	})
}
