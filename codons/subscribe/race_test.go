//go:build race

package subscribe_test

// raceEnabled reports whether the race detector is on, with which tests take ten times longer.
const raceEnabled = true
