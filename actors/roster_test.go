package actors

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// A roster is a sorted set, whatever happened to it, of chunks that are neither empty nor
// too long.
func TestRoster(t *testing.T) {
	const many = 3 * rosterChunk
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it decides a test
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
			var r roster
			in := make(map[*cell]bool)
			for step := range 6 * many {
				c := cells[chance.IntN(many)]
				if grows(step) {
					r.put(c)
					in[c] = true
				} else {
					r.drop(c)
					delete(in, c)
				}
				if step%97 == 0 {
					checkRoster(t, &r, cells, in, performatives.AgentID(fmt.Sprintf("%05d", chance.IntN(many))))
				}
			}
			for _, c := range cells {
				r.drop(c)
			}
			if len(r.chunks) != 0 {
				t.Errorf("%d chunks are left of nothing", len(r.chunks))
			}
		})
	}
}

// Cells that come in order, from either end, are many chunks.
func TestRosterInOrder(t *testing.T) {
	const many = 5 * rosterChunk
	cells := make([]*cell, many)
	in := make(map[*cell]bool)
	for i := range cells {
		cells[i] = &cell{folded: performatives.AgentID(fmt.Sprintf("%05d", i))}
		in[cells[i]] = true
	}
	var up, down roster
	for i := range cells {
		up.put(cells[i])
		down.put(cells[many-1-i])
	}
	checkRoster(t, &up, cells, in, "00300")
	checkRoster(t, &down, cells, in, "00300")
}

// checkRoster compares a roster with what should be in it, as a whole and a page of it.
func checkRoster(t *testing.T, r *roster, cells []*cell, in map[*cell]bool, from performatives.AgentID) {
	t.Helper()
	var want []*cell
	for _, c := range cells {
		if in[c] {
			want = append(want, c)
		}
	}
	for _, of := range r.chunks {
		if len(of) == 0 || len(of) > rosterChunk {
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

// Nothing is kept of who has left, and nobody is found before having an actor.
func TestSkillsForget(t *testing.T) {
	s := &System{}
	c := &cell{folded: "a", describes: performatives.Capabilities{Actions: []performatives.Action{{Name: "Dig it"}, {Name: "dig-it"}}}}
	s.skills.enter(c)
	for range s.Able("dig_it", "") {
		t.Error("found without an actor")
	}
	if len(s.skills.by) != 1 {
		t.Errorf("known by %d names", len(s.skills.by))
	}
	s.skills.change(c, &performatives.Capabilities{Actions: []performatives.Action{{Name: "paint"}}})
	if len(s.skills.by) != 1 || s.skills.by["paint"] == nil {
		t.Errorf("known by %v", s.skills.by)
	}
	if s.skills.leave(c); len(s.skills.by) != 0 {
		t.Errorf("%v is left", s.skills.by)
	}
}
