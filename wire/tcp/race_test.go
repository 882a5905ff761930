//go:build race

package tcp

// raceEnabled is true under the race detector, which allocates and drops pooled objects at
// random.
const raceEnabled = true
