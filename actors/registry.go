package actors

import (
	"hash/maphash"
	"iter"
	"maps"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// registry maps ids to the entries of the directory. It is safe for concurrent use. A [sync.Map]
// takes three times as long with 100,000 entries: it is a tree, whose nodes the caches of the
// processor do not hold.
type registry struct {
	shards [64]struct {
		mu sync.RWMutex
		by map[performatives.AgentID]*Registration
		_  [32]byte // a shard has a cache line of its own
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
	switch {
	case old != anyEntry && s.by[id] != old:
		return false
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
