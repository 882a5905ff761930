package admission

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadID returns the id of the current thread.
func threadID() int { return unix.Gettid() }

// threadTime returns the processor time that a thread of the process has taken.
func threadTime(id int) (time.Duration, bool) {
	const perThread, scheduled = 4, 2 // CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED: clock_getres(2)
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^id<<3|perThread|scheduled), &ts) //nolint:gosec // a thread's id has 22 bits
	return time.Duration(ts.Nano()), err == nil
}
