package admission

import (
	goruntime "runtime"
	"testing"
)

// TestSpare raises the number of processors once, and not that of handlers.
func TestSpare(t *testing.T) {
	before := goruntime.GOMAXPROCS(1)
	t.Cleanup(func() {
		goruntime.GOMAXPROCS(before)
		spare.Store(0)
	})
	for range 2 {
		if got := procs(); got != 1 {
			t.Errorf("%d handlers compute at a time", got)
		}
		Spare()
		if got := goruntime.GOMAXPROCS(0); got != 2 {
			t.Errorf("GOMAXPROCS %d", got)
		}
	}
}
