package actors

import (
	"slices"
	"testing"
)

// A ring keeps the order while it grows, and gives its memory back.
func TestRing(t *testing.T) {
	const kept = 64
	var few [2]int
	for name, r := range map[string]ring[int]{"empty": {}, "with memory of its own": {items: few[:]}} {
		in, out := 0, 0
		for _, n := range []int{1, -1, 3, -2, 200, -150, 100, -151, 2, -2} {
			for range max(n, 0) {
				r.push(in)
				in++
			}
			for range max(-n, 0) {
				if got, ok := r.pop(kept); !ok || got != out {
					t.Fatalf("%s: got %v, %t, want %d", name, got, ok, out)
				}
				out++
			}
			if int(r.n) != in-out {
				t.Errorf("%s: it has %d values, want %d", name, r.n, in-out)
			}
		}
		if v, ok := r.pop(kept); ok {
			t.Errorf("%s: an empty ring has %d", name, v)
		}
		if len(r.items) > kept {
			t.Errorf("%s: %d places are kept", name, len(r.items))
		}
	}
}

// A ring does not keep what was taken from it, nor does the first memory that it has outgrown.
func TestRingForgets(t *testing.T) {
	var few [2]any
	r := ring[any]{items: few[:]}
	for range 3 {
		r.push(new(int))
	}
	for range 3 {
		r.pop(64)
	}
	for i, v := range slices.Concat(r.items, few[:]) {
		if v != nil {
			t.Errorf("place %d still has its value", i)
		}
	}
}
