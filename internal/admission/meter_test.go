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
		push(1000)
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
