package actors

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// After any insertions and removals, a cellSet is sorted, and its chunks are neither
// empty nor too large.
func TestCellSet(t *testing.T) {
	const many = 3 * maxChunk
	chance := rand.New(rand.NewPCG(1, 2)) // test data
	cells := make([]*cell, many)
	for i := range cells {
		cells[i] = &cell{folded: performatives.AgentID(fmt.Sprintf("%05d", i))}
	}
	for name, grows := range map[string]func(step int) bool{
		"grows":             func(int) bool { return true },
		"comes and goes":    func(int) bool { return chance.IntN(2) == 0 },
		"grows and shrinks": func(step int) bool { return step/many%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			var r cellSet
			in := make(map[*cell]bool)
			for step := range 6 * many {
				c := cells[chance.IntN(many)]
				if grows(step) {
					r.insert(c)
					in[c] = true
				} else {
					r.remove(c)
					delete(in, c)
				}
				if step%97 == 0 {
					checkCellSet(t, &r, cells, in, performatives.AgentID(fmt.Sprintf("%05d", chance.IntN(many))))
				}
			}
			for _, c := range cells {
				r.remove(c)
			}
			if len(r.chunks) != 0 {
				t.Errorf("%d chunks are left of nothing", len(r.chunks))
			}
		})
	}
}

// Insertions in ascending or descending order produce many chunks.
func TestCellSetInsertsInOrder(t *testing.T) {
	const many = 5 * maxChunk
	cells := make([]*cell, many)
	in := make(map[*cell]bool)
	for i := range cells {
		cells[i] = &cell{folded: performatives.AgentID(fmt.Sprintf("%05d", i))}
		in[cells[i]] = true
	}
	var up, down cellSet
	for i := range cells {
		up.insert(cells[i])
		down.insert(cells[many-1-i])
	}
	checkCellSet(t, &up, cells, in, "00300")
	checkCellSet(t, &down, cells, in, "00300")
}

// checkCellSet compares the set with the expected cells, as a whole and one page of it.
func checkCellSet(t *testing.T, r *cellSet, cells []*cell, in map[*cell]bool, from performatives.AgentID) {
	t.Helper()
	var want []*cell
	for _, c := range cells {
		if in[c] {
			want = append(want, c)
		}
	}
	for _, of := range r.chunks {
		if len(of) == 0 || len(of) > maxChunk {
			t.Fatalf("a chunk has %d cells", len(of))
		}
	}
	if got := slices.Concat(r.chunks...); !slices.Equal(got, want) {
		t.Fatalf("%d cells, want %d", len(got), len(want))
	}
	i, _ := slices.BinarySearchFunc(want, from, func(c *cell, from performatives.AgentID) int {
		return cmp.Compare(c.folded, from)
	})
	page := want[i:min(i+16, len(want))]
	if got := r.page(make([]*cell, 0, 16), from); !slices.Equal(got, page) {
		t.Fatalf("%d cells from %s on, want %d", len(got), from, len(page))
	}
}

// The index keeps no stopped agent, and WithAction yields no agent without an actor.
func TestCapabilityIndexRemovesStoppedAgents(t *testing.T) {
	s := &System{}
	c := &cell{folded: "a", describes: performatives.Capabilities{Actions: []performatives.Action{{Name: "Dig it"}, {Name: "dig-it"}}}}
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
