// Package sealedtest has what tests of agents with sealed payloads share.
package sealedtest

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/sealed"
)

// Group returns sealers of agents that trust one another, by pins. change may be nil; it changes
// the options of each.
func Group(t testing.TB, change func(*sealed.Options), agents ...performatives.AgentID) map[performatives.AgentID]*sealed.Sealer {
	t.Helper()
	pins := make(map[performatives.AgentID][]string)
	keys := make(map[performatives.AgentID]sealed.Keys)
	for _, id := range agents {
		keys[id] = Keys(t)
		pins[id] = []string{keys[id].ID()}
	}
	group := make(map[performatives.AgentID]*sealed.Sealer)
	for _, id := range agents {
		o := sealed.Options{Agent: id, Keys: keys[id], Trust: sealed.Trust{Pins: pins}}
		if change != nil {
			change(&o)
		}
		s, err := sealed.New(o)
		if err != nil {
			t.Fatal(err)
		}
		group[id] = s
	}
	return group
}

// Keys returns new keys.
func Keys(t testing.TB) sealed.Keys {
	t.Helper()
	k, err := sealed.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}
