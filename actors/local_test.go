package actors

import (
	"sync"
	"testing"
)

// TestLocal is one value of an agent and a key, whoever comes first, and nobody
// else's.
func TestLocal(t *testing.T) {
	type first struct{}
	type second struct{}
	_, spawn := acquainted(t)
	a, b := spawn("a"), spawn("b")
	of := func(s Self, key any) *int { return s.Local(key, func() any { return new(int) }).(*int) }
	found := make([]*int, 8)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() { found[i] = of(a, first{}) })
	}
	all.Wait()
	for _, v := range found {
		if v != found[0] {
			t.Error("two values under one key")
		}
	}
	if of(a, second{}) == found[0] || of(b, first{}) == found[0] {
		t.Error("another key, or another agent, has the same value")
	}
}
