//go:build !race

package wiretest

const slowness = 1
