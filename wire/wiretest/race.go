//go:build race

package wiretest

// slowness is the divisor of test sizes under the race detector.
const slowness = 10
