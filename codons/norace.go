//go:build !race

package codons

const raceEnabled = false
