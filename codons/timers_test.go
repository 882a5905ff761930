package codons

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTimers has ticks be under way while their timers are stopped or set anew.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rung := make(chan struct{}, 8)
		all := timers{began: time.Now(), ring: func() { rung <- struct{}{} }}
		none := func(why string) {
			t.Helper()
			if name, ok := all.expired(time.Now()); ok {
				t.Errorf("%s is due, but %s", name, why)
			}
		}
		all.arm("a", time.Now(), time.Second)
		<-rung
		all.arm("a", time.Now(), time.Hour)
		none("it was set anew")
		all.arm("b", time.Now(), 0)
		<-rung
		all.disarm("b")
		none("it was stopped")
		<-rung
		if name, ok := all.expired(time.Now()); name != "a" || !ok {
			t.Errorf("got %q, %t, want a", name, ok)
		}
		none("it counts once")
		all.arm("far", time.Now(), Never-1)
		none("its time is longer than a Duration since the beginning")
		all.arm("c", time.Now(), time.Second)
		all.stop()
		time.Sleep(time.Minute)
		none("all were stopped")
		if len(rung) != 0 {
			t.Error("a stopped timer rings")
		}
	})
}

// TestTimersInOrder has the one alarm serve several clocks.
func TestTimersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rung := make(chan struct{}, 8)
		all := timers{began: time.Now(), ring: func() { rung <- struct{}{} }}
		start := time.Now()
		for name, d := range map[string]time.Duration{"late": 3 * time.Second, "early": time.Second, "middle": 2 * time.Second} {
			all.arm(name, time.Now(), d)
		}
		for i, want := range []string{"early", "middle", "late"} {
			<-rung
			name, ok := all.expired(time.Now())
			if at := time.Since(start); name != want || !ok || at != time.Duration(i+1)*time.Second {
				t.Errorf("got %q, %t after %v, want %s", name, ok, at, want)
			}
			all.expired(time.Now()) // which sets the alarm for the next
		}
	})
}
