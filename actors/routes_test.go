package actors

import (
	"fmt"
	"slices"
	"testing"
)

// Each kind reaches the subscriptions that want it, in the order in which they were made, also where two kinds share a slot.
func TestRoutes(t *testing.T) {
	kinds := []Kind{""}
	for i := range 3 * routeSlots {
		kinds = append(kinds, Kind(fmt.Sprint("subject.", i)))
	}
	all := []*Subscription{{kinds: kinds[:len(kinds)/2]}, {}, {kinds: []Kind{}}, {kinds: kinds[len(kinds)/3:]}}
	for n := range len(all) + 1 {
		r := newRoutes(all[:n])
		for i, kind := range append(kinds, "another") {
			var got, want []string
			for _, to := range r.to(kind) {
				got = append(got, fmt.Sprint(slices.Index(all, to.s), to.column))
			}
			for j, wants := range []bool{i < len(kinds)/2, true, false, i >= len(kinds)/3 && i < len(kinds)} {
				if column := max(0, slices.Index(all[j].kinds, kind)); wants && j < n {
					want = append(want, fmt.Sprint(j, column))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d subscriptions: %s goes to %v, want %v", n, kind, got, want)
			}
		}
	}
	if newRoutes(nil) != nil {
		t.Error("there are routes to nobody")
	}
}
