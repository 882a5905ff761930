// Package racetest skips tests in which the race detector finds nothing, and shortens others.
package racetest

import "testing"

// Skip skips a test in programs with the race detector, which finds nothing in it: the test runs on
// one goroutine, or works through long texts, or watches processes of its own, whose reports of
// races it does not read. .ci/plain runs each test that calls Skip without the detector.
func Skip(t *testing.T) {
	t.Helper()
	if Enabled {
		t.Skip("the race detector has nothing to find here: .ci/plain runs this test")
	}
}

// Fewer returns n, or an eighth of it in programs with the race detector: for messages and runs of
// which a few show the detector what many do.
func Fewer(n int) int {
	if Enabled {
		return n / 8
	}
	return n
}
