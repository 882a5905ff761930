package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestMeter estimates the wait in a queue by its length and its rate.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Meter
		n := 0
		push := func(tasks int) {
			for range tasks {
				n++
				d.Pushed(n)
			}
		}
		pop := func(tasks int, each time.Duration) {
			for range tasks {
				time.Sleep(each)
				n--
				d.Popped(n, 1)
			}
		}
		want := func(want time.Duration) {
			t.Helper()
			if got := d.Delay(); got != want {
				t.Errorf("%d tasks: delay %v, want %v", n, got, want)
			}
		}
		push(shortQueue)
		time.Sleep(time.Second)
		want(0)
		push(1)
		want(0)
		time.Sleep(2 * time.Second)
		want(2 * time.Second) // nothing moves
		push(1007)            // to a multiple of coarse
		pop(measured-1, 0)
		want(2 * time.Second)
		pop(1, 0)
		want(time.Duration(n) * 2 * time.Second / measured) // of the first measurement
		for range 20 {
			push(measured)
			pop(measured, time.Millisecond)
		}
		if got, want := d.Delay(), time.Duration(n)*time.Millisecond; got < want || got > want*11/10 {
			t.Errorf("delay %v, want %v", got, want)
		}
		push(2 * measured)
		want(time.Duration(n) * time.Duration(d.each.Load()))
		n -= 100
		d.Popped(n, 100) // at once
		want(time.Duration(n) * time.Duration(d.each.Load()))
		pop(n-shortQueue-1, 0)
		if d.Delay() == 0 {
			t.Error("a queue of 65 has no delay")
		}
		pop(1, 0)
		want(0)
		push(1)
		want(0) // the rate of before does not count
	})
}

// The estimate does not depend on which lengths a queue has: it may have two of them in turn.
func TestMeterOfASteadyQueue(t *testing.T) {
	for _, n := range []int{shortQueue + 2, shortQueue + coarse, shortQueue + coarse + 1, 1000, 1001} {
		synctest.Test(t, func(t *testing.T) {
			var d Meter
			for i := range n {
				d.Pushed(i + 1)
			}
			for range 1000 {
				time.Sleep(time.Millisecond)
				d.Popped(n-1, 1)
				d.Pushed(n)
			}
			if got, want := d.Delay(), time.Duration(n)*time.Millisecond; got < want-coarse*time.Millisecond || got > want+time.Millisecond {
				t.Errorf("%d tasks: delay %v, want %v", n, got, want)
			}
		})
	}
}
