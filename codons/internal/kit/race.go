//go:build race

package kit

// Racing reports whether the race detector is on, which makes the tests about ten times slower.
const Racing = true
