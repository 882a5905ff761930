//go:build !race

package subscribe_test

const raceEnabled = false
