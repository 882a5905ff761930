package codons

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// MaxPath is how many states the path of a side has at most: the last ones.
const MaxPath = 32

// paths has the paths of the sides of one codon, as a tree. Most sides come to the same states, so
// they share their paths, which are never changed, and entering a state takes no memory. The zero
// value is ready. Safe for concurrent use.
type paths struct {
	begin visited
	n     atomic.Int32 // the paths in the tree
}

// maxPaths is how many paths of a codon are shared, about. Those of a conversation of many rounds
// are without number.
const maxPaths = 256

// visited is a state in the tree of paths.
type visited struct {
	path []machine.State            // the path that ends with it; empty at the root
	next [4]atomic.Pointer[visited] // those that come after it, as far as they are shared
}

// states returns the path that ends with v; nil if v is nil. It is shared.
func (v *visited) states() []machine.State {
	if v == nil {
		return nil
	}
	return v.path
}

// last returns the state at the end of the path; empty if v is nil.
func (v *visited) last() machine.State {
	if v == nil || len(v.path) == 0 {
		return ""
	}
	return v.path[len(v.path)-1]
}

// after returns the path that has one more state than at, or than the empty path if at is nil. A
// full path loses its oldest state.
func (p *paths) after(at *visited, state machine.State) *visited {
	at = cmp.Or(at, &p.begin)
	for i := range at.next {
		next := at.next[i].Load()
		if next == nil && p.n.Load() < maxPaths && len(at.path) < MaxPath {
			next = at.with(state)
			if at.next[i].CompareAndSwap(nil, next) {
				p.n.Add(1)
				return next
			}
			next = at.next[i].Load() // that of another goroutine
		}
		if next != nil && next.last() == state {
			return next
		}
	}
	return at.with(state)
}

// with returns a path of its own that has one more state than v.
func (v *visited) with(state machine.State) *visited {
	before := v.path
	if len(before) == MaxPath {
		before = before[1:]
	}
	return &visited{path: slices.Concat(before, []machine.State{state})}
}
