package actors

import (
	"cmp"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// registry maps ids to the entries of the directory. It is safe for concurrent use. A [sync.Map]
// takes three times as long with 100,000 entries: it is a tree, whose nodes the caches of the
// processor do not hold.
type registry struct {
	shards [64]struct {
		mu    sync.RWMutex
		by    map[performatives.AgentID]*Registration
		local []*cell // those of by that are of this process, each once
		_     [8]byte // a shard has a cache line of its own
	}
}

var registrySeed = maphash.MakeSeed()

func shardOf(id performatives.AgentID) uint64 { return maphash.String(registrySeed, string(id)) % 64 }

// load returns nil for an id without an entry.
func (g *registry) load(id performatives.AgentID) *Registration {
	s := &g.shards[shardOf(id)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.by[id]
}

// swap replaces the entry of an id, if that is old: nil for none, or [anyEntry]. The new entry nil
// deletes it.
func (g *registry) swap(id performatives.AgentID, old, to *Registration) (swapped bool) {
	s := &g.shards[shardOf(id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.by[id]
	if old != anyEntry && was != old {
		return false
	}
	if was != nil && was.local != nil && was.folded == id {
		s.local = slices.DeleteFunc(s.local, func(c *cell) bool { return c == was.local })
	}
	if to != nil && to.local != nil && to.folded == id {
		s.local = append(s.local, to.local)
	}
	switch {
	case to != nil && s.by == nil:
		s.by = map[performatives.AgentID]*Registration{id: to}
	case to != nil:
		s.by[id] = to
	default:
		delete(s.by, id)
		if len(s.by) == 0 {
			s.by = nil // a map never shrinks
		}
	}
	return true
}

// anyEntry stands for every entry, and for none.
var anyEntry = new(Registration)

// all yields the entries with their ids, in no particular order. It holds no lock meanwhile.
func (g *registry) all() iter.Seq2[performatives.AgentID, *Registration] {
	return func(yield func(performatives.AgentID, *Registration) bool) {
		for i := range g.shards {
			s := &g.shards[i]
			s.mu.RLock()
			entries := maps.Clone(s.by)
			s.mu.RUnlock()
			for id, r := range entries {
				if !yield(id, r) {
					return
				}
			}
		}
	}
}

// locals yields the agents of this process, in no particular order. It holds no lock meanwhile.
func (g *registry) locals() iter.Seq[*cell] {
	return func(yield func(*cell) bool) {
		for i := range g.shards {
			s := &g.shards[i]
			s.mu.RLock()
			cells := slices.Clone(s.local)
			s.mu.RUnlock()
			for _, c := range cells {
				if !yield(c) {
					return
				}
			}
		}
	}
}

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

// maxStoppedAgents is the largest number of stopped agents that a system remembers. A
// message for an agent that stopped earlier is refused with
// [performatives.CodeUnknownAgent].
const maxStoppedAgents = 1024

// stoppedAgents is a bounded list of the ids of stopped agents. A message for one of them
// is refused with [performatives.CodeStopped] and not with
// [performatives.CodeUnknownAgent].
type stoppedAgents struct {
	mu   sync.Mutex
	ids  map[performatives.AgentID]int // number of occurrences in ring
	ring []performatives.AgentID
	next int
}

func (s *stoppedAgents) add(id performatives.AgentID) {
	id = id.Fold().Clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = make(map[performatives.AgentID]int)
	}
	s.ids[id]++
	if len(s.ring) < maxStoppedAgents {
		s.ring = append(s.ring, id)
		return
	}
	oldest := s.ring[s.next]
	if s.ids[oldest]--; s.ids[oldest] == 0 {
		delete(s.ids, oldest)
	}
	s.ring[s.next] = id
	s.next = (s.next + 1) % maxStoppedAgents
}

func (s *stoppedAgents) has(id performatives.AgentID) bool {
	id = id.Fold()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id] > 0
}
