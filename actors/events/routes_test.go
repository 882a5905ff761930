package events

import (
	"fmt"
	"slices"
	"testing"
)

// Each kind reaches the subscriptions that want it, in the order in which they were made, also
// where two kinds share a slot.
func TestRoutes(t *testing.T) {
	kinds := []Kind{""}
	for i := range 3 * routeSlots {
		kinds = append(kinds, Kind(fmt.Sprint("subject.", i)))
	}
	batches := &Batches{columns: make([]Column, len(kinds))}
	all := []*Subscription{{kinds: kinds[:len(kinds)/2]}, {}, {kinds: []Kind{}}, {kinds: kinds[len(kinds)/3:]}, {kinds: kinds[len(kinds)/4:], batches: batches}}
	for n := range len(all) + 1 {
		r := newRoutes(all[:n], nil)
		for i, kind := range append(kinds, "another") {
			var got, want []string
			to := r.to(kind)
			for _, s := range to.single {
				got = append(got, fmt.Sprint(slices.Index(all, s)))
			}
			for _, c := range to.batches {
				got = append(got, fmt.Sprint("column ", c.index, c.b == batches))
			}
			for j, wants := range []bool{i < len(kinds)/2, true, false, i >= len(kinds)/3 && i < len(kinds)} {
				if wants && j < n {
					want = append(want, fmt.Sprint(j))
				}
			}
			if n == len(all) && i >= len(kinds)/4 && i < len(kinds) {
				want = append(want, fmt.Sprint("column ", i-len(kinds)/4, true))
			}
			if !slices.Equal(got, want) || to.empty() != (len(want) == 0) {
				t.Errorf("%d subscriptions: %s goes to %v, want %v", n, kind, got, want)
			}
		}
	}
	if newRoutes(nil, nil) != nil {
		t.Error("there are routes to nobody")
	}
}
