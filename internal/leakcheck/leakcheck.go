// Package leakcheck fails a test binary that leaves goroutines running.
//
// Every package whose tests start goroutines has this function:
//
//	func TestMain(m *testing.M) { leakcheck.Main(m) }
//
// A goroutine that is running after the last test has no owner that joined it. It is reported
// with its stack and with the function that started it. Goroutines that existed before the tests
// ran (package initialisation) are no leaks.
//
// The check is skipped when the tests fail, because a failed test often leaves resources open. Of
// go test -fuzz only the coordinating process is checked: it kills its workers before Grace has
// passed.
package leakcheck

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Grace is the time for goroutines to end after the last test. A binary without leaks waits
// only until the last goroutine has ended. A probe of memberlist with the times for a WAN, which a
// stop does not wait for, takes 2 s, or some more on a busy machine.
const Grace = 10 * time.Second

// Main runs the tests of m, checks for leaked goroutines, and exits the process: with the
// exit code of the tests, or with 1 and the stacks on stderr if the tests passed and a
// goroutine leaked. It does not return, so deferred calls of TestMain do not run.
func Main(m *testing.M) {
	before := goleak.IgnoreCurrent()
	code := m.Run()
	if code == 0 {
		if err := leaked(before); err != nil {
			fmt.Fprintf(os.Stderr, "leakcheck: running after the last test: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked returns the leaks that last for longer than Grace. A search of goleak takes half a
// second if it finds one.
func leaked(before goleak.Option) error {
	for start := time.Now(); ; {
		err := goleak.Find(before)
		if err == nil || time.Since(start) > Grace {
			return err
		}
	}
}
