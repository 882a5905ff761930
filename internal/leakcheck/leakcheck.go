// Package leakcheck fails a test binary that leaves goroutines running.
//
// Every package with tests has this function:
//
//	func TestMain(m *testing.M) { leakcheck.Main(m) }
//
// A goroutine that is running after the last test has no owner that joined it. It is reported
// with its stack and with the function that started it.
//
// Leaks are all goroutines except the caller of [Main], those that existed before the tests
// ran (package initialisation), and those that the standard library keeps for the lifetime of
// the process (the signal loop). Goroutines have the time [Grace] to end.
//
// The check is skipped when the tests fail, because a failed test often leaves resources
// open. It is also skipped in the worker processes of go test -fuzz: the coordinating
// process, which is checked, kills them before Grace has passed.
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

// Grace is the time for goroutines to end after the last test. A binary without leaks waits
// only until the last goroutine has ended.
const Grace = 3 * time.Second

// Main runs the tests of m, checks for leaked goroutines, and exits the process: with the
// exit code of the tests, or with 1 and the stacks on stderr if the tests passed and a
// goroutine leaked. It does not return, so deferred calls of TestMain do not run.
func Main(m *testing.M) {
	before := ids(snapshot())
	code := m.Run()
	if code == 0 && !fuzzWorker() {
		code = report(os.Stderr, await(before, Grace))
	}
	os.Exit(code)
}

// report writes the leaked goroutines and returns the exit code.
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

// await returns the leaked goroutines as soon as there are none, or after grace.
func await(before map[string]bool, grace time.Duration) []goroutine {
	deadline := time.Now().Add(grace)
	for pause := time.Microsecond; ; pause = min(2*pause, 50*time.Millisecond) {
		leaked := unexpected(snapshot(), before)
		if len(leaked) == 0 || time.Now().After(deadline) {
			return leaked
		}
		time.Sleep(pause) //nolint:forbidigo // the end of an unknown goroutine cannot be awaited
	}
}

// unexpected returns all without the current goroutine, which snapshot lists first, those in
// before, and those of the standard library.
func unexpected(all []goroutine, before map[string]bool) []goroutine {
	var left []goroutine
	for i, g := range all {
		if i > 0 && !before[g.id] && !g.standard() {
			left = append(left, g)
		}
	}
	return left
}

// snapshot returns all goroutines, the current one first.
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

// fuzzWorker reports whether this process is a worker of go test -fuzz.
func fuzzWorker() bool {
	f := flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() == "true"
}
