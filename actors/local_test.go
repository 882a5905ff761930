package actors

import (
	"sync"
	"testing"
)

// Local has one value per agent and key, whichever goroutine creates it first.
func TestLocal(t *testing.T) {
	type first struct{}
	type second struct{}
	_, spawn := newKnownPeersSystem(t)
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
