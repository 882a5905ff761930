//go:build !linux

package admission

import "time"

// threadID returns zero: threads are not measured on this system.
func threadID() int { return 0 }

// threadTime returns false.
func threadTime(int) (time.Duration, bool) { return 0, false }
