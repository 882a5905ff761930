//go:build race

package tcp

// raceEnabled says that the race detector makes allocations of its own, and that pools
// forget at random.
const raceEnabled = true
