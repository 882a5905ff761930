package admission

import (
	goruntime "runtime"
	"sync/atomic"
)

// spare is 1 once Spare was called.
var spare atomic.Int32

// Spare raises GOMAXPROCS by one, the first time that it is called. Gates leave that processor to
// what keeps the node alive.
func Spare() {
	if spare.CompareAndSwap(0, 1) {
		goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0) + 1)
	}
}

// procs returns the number of handlers that can compute at a time.
func procs() int {
	return max(1, min(goruntime.GOMAXPROCS(0)-int(spare.Load()), goruntime.NumCPU()))
}
