//go:build race

package codons

const raceEnabled = true
