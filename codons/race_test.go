//go:build race

package codons_test

// racing says that the race detector is on, which makes all of it ten times slower.
const racing = true
