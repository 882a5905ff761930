package actors

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ribosome-agents/ribosome/performatives"
)

// registrationSet is a set of registrations with distinct folded ids, sorted by folded id. It is
// stored in chunks, so that the cost of an insertion is bounded by the chunk size.
type registrationSet struct{ chunks [][]*Registration }

// maxChunk is the largest number of registrations in a chunk.
const maxChunk = 512

// find returns the position of the registration with that folded id, or the position to insert
// it.
func (s *registrationSet) find(id performatives.AgentID) (chunk, at int, there bool) {
	chunk = sort.Search(len(s.chunks), func(i int) bool {
		of := s.chunks[i]
		return of[len(of)-1].folded >= id
	})
	if chunk == len(s.chunks) {
		return chunk, 0, false
	}
	at, there = slices.BinarySearchFunc(s.chunks[chunk], id, func(r *Registration, id performatives.AgentID) int {
		return cmp.Compare(r.folded, id)
	})
	return chunk, at, there
}

// insert adds a registration, unless it is in the set.
func (s *registrationSet) insert(r *Registration) {
	i, at, there := s.find(r.folded)
	switch {
	case there:
		return
	case len(s.chunks) == 0:
		s.chunks = [][]*Registration{{r}}
		return
	case i == len(s.chunks): // greater than all others
		i--
		at = len(s.chunks[i])
	}
	of := slices.Insert(s.chunks[i], at, r)
	s.chunks[i] = of
	if len(of) > maxChunk {
		upper := slices.Clone(of[maxChunk/2:])
		s.chunks[i] = slices.Delete(of, maxChunk/2, len(of))
		s.chunks = slices.Insert(s.chunks, i+1, upper)
	}
}

// remove removes a registration, if it is in the set.
func (s *registrationSet) remove(r *Registration) {
	i, at, there := s.find(r.folded)
	if !there {
		return
	}
	s.chunks[i] = slices.Delete(s.chunks[i], at, at+1)
	if len(s.chunks[i]) == 0 {
		s.chunks = slices.Delete(s.chunks, i, i+1)
	}
}

// page appends to dst the registrations whose folded id is at least from, in order, up to the
// capacity of dst.
func (s *registrationSet) page(dst []*Registration, from performatives.AgentID) []*Registration {
	i, at, _ := s.find(from)
	for ; i < len(s.chunks) && len(dst) < cap(dst); i, at = i+1, 0 {
		of := s.chunks[i][at:]
		dst = append(dst, of[:min(len(of), cap(dst)-len(dst))]...)
	}
	return dst
}
