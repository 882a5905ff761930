//go:build !race

package racetest

// Enabled reports whether this program has the race detector, with which code takes five to fifteen
// times as long.
const Enabled = false
