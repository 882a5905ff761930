//go:build race

package wiretest

// slowness is by how much the race detector makes a test smaller.
const slowness = 10
