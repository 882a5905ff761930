//go:build !race

package codons_test

const racing = false
