package actors

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// After any insertions and removals, a registrationSet is sorted, and its chunks are neither
// empty nor too large.
func TestRegistrationSet(t *testing.T) {
	const many = 3 * maxChunk
	chance := rand.New(rand.NewPCG(1, 2)) // test data
	all := make([]*Registration, many)
	for i := range all {
		all[i] = &Registration{folded: performatives.AgentID(fmt.Sprintf("%05d", i))}
	}
	for name, grows := range map[string]func(step int) bool{
		"grows":             func(int) bool { return true },
		"comes and goes":    func(int) bool { return chance.IntN(2) == 0 },
		"grows and shrinks": func(step int) bool { return step/many%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			var set registrationSet
			in := make(map[*Registration]bool)
			for step := range 6 * many {
				c := all[chance.IntN(many)]
				if grows(step) {
					set.insert(c)
					in[c] = true
				} else {
					set.remove(c)
					delete(in, c)
				}
				if step%97 == 0 {
					checkRegistrationSet(t, &set, all, in, performatives.AgentID(fmt.Sprintf("%05d", chance.IntN(many))))
				}
			}
			for _, c := range all {
				set.remove(c)
			}
			if len(set.chunks) != 0 {
				t.Errorf("%d chunks are left of nothing", len(set.chunks))
			}
		})
	}
}

// Insertions in ascending or descending order produce many chunks.
func TestRegistrationSetInsertsInOrder(t *testing.T) {
	const many = 5 * maxChunk
	all := make([]*Registration, many)
	in := make(map[*Registration]bool)
	for i := range all {
		all[i] = &Registration{folded: performatives.AgentID(fmt.Sprintf("%05d", i))}
		in[all[i]] = true
	}
	var up, down registrationSet
	for i := range all {
		up.insert(all[i])
		down.insert(all[many-1-i])
	}
	checkRegistrationSet(t, &up, all, in, "00300")
	checkRegistrationSet(t, &down, all, in, "00300")
}

// checkRegistrationSet compares the set with the expected all, as a whole and one page of it.
func checkRegistrationSet(t *testing.T, r *registrationSet, all []*Registration, in map[*Registration]bool, from performatives.AgentID) {
	t.Helper()
	var want []*Registration
	for _, c := range all {
		if in[c] {
			want = append(want, c)
		}
	}
	for _, of := range r.chunks {
		if len(of) == 0 || len(of) > maxChunk {
			t.Fatalf("a chunk has %d registrations", len(of))
		}
	}
	if got := slices.Concat(r.chunks...); !slices.Equal(got, want) {
		t.Fatalf("%d registrations, want %d", len(got), len(want))
	}
	i, _ := slices.BinarySearchFunc(want, from, func(c *Registration, from performatives.AgentID) int {
		return cmp.Compare(c.folded, from)
	})
	page := want[i:min(i+16, len(want))]
	if got := r.page(make([]*Registration, 0, 16), from); !slices.Equal(got, page) {
		t.Fatalf("%d registrations from %s on, want %d", len(got), from, len(page))
	}
}

// The index keeps no stopped agent, and WithAction yields no agent without an actor.
func TestCapabilityIndexRemovesStoppedAgents(t *testing.T) {
	s := &System{}
	c := &Registration{folded: "a", local: &cell{}, describes: &performatives.Capabilities{Actions: []performatives.Action{{Name: "Dig it"}, {Name: "dig-it"}}}}
	s.capabilities.add(c)
	for range s.WithAction("dig_it", "") {
		t.Error("WithAction yields an agent without an actor")
	}
	if len(s.capabilities.byName) != 1 {
		t.Errorf("the index has %d names", len(s.capabilities.byName))
	}
	s.capabilities.update(c, &performatives.Capabilities{Actions: []performatives.Action{{Name: "paint"}}})
	if len(s.capabilities.byName) != 1 || s.capabilities.byName["paint"] == nil {
		t.Errorf("the index has %v", s.capabilities.byName)
	}
	if s.capabilities.remove(c); len(s.capabilities.byName) != 0 {
		t.Errorf("%v is left", s.capabilities.byName)
	}
}
