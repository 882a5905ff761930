// Package bitset holds a set of small integers in one word. A struct that has one
// compares with == and can be the key of a map.
package bitset

import "math/bits"

// Size is the number of integers that a [Set] can hold: 0 to Size-1.
const Size = 64

// Set is a set of integers from 0 to [Size]-1. The zero value is the empty set.
// Sets combine with the operators of integers: | is the union, & the
// intersection, &^ the difference.
type Set uint64

// Has reports whether i is in the set.
func (s Set) Has(i int) bool { return s&(1<<i) != 0 }

// With returns the set with i added.
func (s Set) With(i int) Set { return s | 1<<i }

// Without returns the set with i removed.
func (s Set) Without(i int) Set { return s &^ (1 << i) }

// Len returns the number of integers in the set.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the smallest integer in the set, [Size] for the empty set.
func (s Set) First() int { return bits.TrailingZeros64(uint64(s)) }

// All yields the integers in ascending order.
func (s Set) All(yield func(int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(s.First()) {
			return
		}
	}
}
