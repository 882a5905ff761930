package actors

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ribosome-agents/ribosome/performatives"
)

// cellSet is a set of cells with distinct folded ids, sorted by folded id. It is stored
// in chunks, so that the cost of an insertion is bounded by the chunk size.
type cellSet struct{ chunks [][]*cell }

// maxChunk is the largest number of cells in a chunk.
const maxChunk = 512

// find returns the position of the cell with that folded id, or the position to insert
// it.
func (s *cellSet) find(id performatives.AgentID) (chunk, at int, there bool) {
	chunk = sort.Search(len(s.chunks), func(i int) bool {
		of := s.chunks[i]
		return of[len(of)-1].folded >= id
	})
	if chunk == len(s.chunks) {
		return chunk, 0, false
	}
	at, there = slices.BinarySearchFunc(s.chunks[chunk], id, func(c *cell, id performatives.AgentID) int {
		return cmp.Compare(c.folded, id)
	})
	return chunk, at, there
}

// insert adds a cell, unless it is in the set.
func (s *cellSet) insert(c *cell) {
	i, at, there := s.find(c.folded)
	switch {
	case there:
		return
	case len(s.chunks) == 0:
		s.chunks = [][]*cell{{c}}
		return
	case i == len(s.chunks): // greater than all others
		i--
		at = len(s.chunks[i])
	}
	of := slices.Insert(s.chunks[i], at, c)
	s.chunks[i] = of
	if len(of) > maxChunk {
		upper := slices.Clone(of[maxChunk/2:])
		s.chunks[i] = slices.Delete(of, maxChunk/2, len(of))
		s.chunks = slices.Insert(s.chunks, i+1, upper)
	}
}

// remove removes a cell, if it is in the set.
func (s *cellSet) remove(c *cell) {
	i, at, there := s.find(c.folded)
	if !there {
		return
	}
	s.chunks[i] = slices.Delete(s.chunks[i], at, at+1)
	if len(s.chunks[i]) == 0 {
		s.chunks = slices.Delete(s.chunks, i, i+1)
	}
}

// page appends to dst the cells whose folded id is at least from, in order, up to the
// capacity of dst.
func (s *cellSet) page(dst []*cell, from performatives.AgentID) []*cell {
	i, at, _ := s.find(from)
	for ; i < len(s.chunks) && len(dst) < cap(dst); i, at = i+1, 0 {
		of := s.chunks[i][at:]
		dst = append(dst, of[:min(len(of), cap(dst)-len(dst))]...)
	}
	return dst
}
