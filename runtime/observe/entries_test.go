package observe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The entries are found by their ids and are in the order of their latest events, whatever is added, touched and removed, also when the table grows.
func TestEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := newEntries()
	known := map[performatives.ConversationID]*entry{}
	var order []performatives.ConversationID // the oldest first
	forget := func(id performatives.ConversationID) {
		order = slices.DeleteFunc(order, func(o performatives.ConversationID) bool { return o == id })
	}
	for range 6000 {
		id := performatives.ConversationID(fmt.Sprint(rng.IntN(1500)))
		e := all.find(id)
		if e != known[id] {
			t.Fatalf("%q: found %v, want %v", id, e, known[id])
		}
		switch {
		case e == nil:
			e = &entry{id: id}
			all.add(e)
			known[id] = e
			order = append(order, id)
		case rng.IntN(4) == 0:
			all.remove(e)
			delete(known, id)
			forget(id)
		default:
			all.touch(e)
			forget(id)
			order = append(order, id)
		}
	}
	if len(all.table) < 1024 || all.n != len(known) {
		t.Errorf("%d buckets for %d entries, want room for %d", len(all.table), all.n, len(known))
	}
	var forward, backward []performatives.ConversationID
	for e := all.oldest; e != nil; e = e.newer {
		forward = append(forward, e.id)
	}
	for e := all.newest; e != nil; e = e.older {
		backward = append(backward, e.id)
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, order) || !slices.Equal(backward, order) {
		t.Errorf("the order is %v and %v, want %v", forward, backward, order)
	}
}
