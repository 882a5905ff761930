// Package leakcheck fails a test binary that leaves goroutines behind.
//
// Every package that has tests has one line of it:
//
//	func TestMain(m *testing.M) { leakcheck.Main(m) }
//
// A goroutine that is still there after the last test has no owner that joined
// it. It is reported with its stack and with the place that started it.
//
// What counts as a leak: every goroutine but the one that calls [Main], those
// that existed before the tests ran (package initialisation), and those that
// the standard library keeps for a whole process (the signal loop). A goroutine
// that is about to end is waited for, see [Grace].
//
// The check is skipped when the tests fail anyway, since a failed test often
// leaves things open, and in the worker processes of go test -fuzz, which the
// process that coordinates them, and is checked, kills before the grace is over.
package leakcheck

import (
	"flag"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"
	"testing"
	"time"
)

// Grace is how long goroutines have, after the last test, to end by themselves.
// A binary that leaks nothing waits only until the last of them is gone, which
// is mostly no time at all.
const Grace = 3 * time.Second

// Main runs the tests of m, looks for goroutines that they left, and ends the
// process: with the exit code of the tests, or with 1 and the stacks on stderr
// when the tests passed and something leaked. It does not return, so deferred
// calls of a TestMain never run; clean up before it, or in the tests.
func Main(m *testing.M) {
	before := ids(snapshot())
	code := m.Run()
	if code == 0 && !fuzzWorker() {
		code = report(os.Stderr, await(before, Grace))
	}
	os.Exit(code)
}

// report writes what leaked and returns the exit code that follows from it.
func report(w io.Writer, leaked []goroutine) int {
	if len(leaked) == 0 {
		return 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, "leakcheck: %d goroutine(s) still running %v after the last test:\n", len(leaked), Grace)
	for _, g := range leaked {
		fmt.Fprintf(&b, "\n%s\n", g.stack)
	}
	_, _ = io.WriteString(w, b.String())
	return 1
}

// await returns the goroutines that are in no way expected, as soon as there
// are none or when grace is over.
func await(before map[string]bool, grace time.Duration) []goroutine {
	deadline := time.Now().Add(grace)
	for pause := time.Microsecond; ; pause = min(2*pause, 50*time.Millisecond) {
		leaked := unexpected(snapshot(), before)
		if len(leaked) == 0 || time.Now().After(deadline) {
			return leaked
		}
		time.Sleep(pause) //nolint:forbidigo // a goroutine's end is no event that can be waited for
	}
}

// unexpected drops from all the current goroutine, which snapshot lists first,
// those in before, and the standard library's own.
func unexpected(all []goroutine, before map[string]bool) []goroutine {
	var left []goroutine
	for i, g := range all {
		if i > 0 && !before[g.id] && !g.standard() {
			left = append(left, g)
		}
	}
	return left
}

// snapshot returns all goroutines, the calling one first.
func snapshot() []goroutine {
	for size := 1 << 16; ; size *= 2 {
		buf := make([]byte, size)
		if n := goruntime.Stack(buf, true); n < size {
			return parse(string(buf[:n]))
		}
	}
}

func ids(all []goroutine) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, g := range all {
		set[g.id] = true
	}
	return set
}

// fuzzWorker reports whether this process is one that go test -fuzz started.
func fuzzWorker() bool {
	f := flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() == "true"
}
