// Package expiring remembers short facts about messages for a limited time: a bounded map from the
// hash of an identity to a value, with an expiry for each entry. Entries live in generations, so
// that an entry costs no pointer, no timer and no search when it expires: a generation is dropped
// as a whole.
package expiring

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// Key identifies an entry: 16 bytes of a hash with a random seed of the map. So peers can choose
// neither the size of an entry nor a collision. Nothing depends on the seed but the key.
type Key [2]uint64

// Owner is the hash of the peer that an entry is accounted to. [NoOwner] has no share.
type Owner uint64

// NoOwner is the owner of entries that only the capacity bounds.
const NoOwner Owner = 0

// Result is the result of [Map.Add].
type Result uint8

// The results.
const (
	Added Result = iota // the entry is new
	Known               // there is an entry with that key
	Full                // the entry is new, and there is no room for it
)

// Map is a bounded map with expiring entries. [New] makes one. It is safe for concurrent use.
//
// Invariant: at most Capacity entries, and of one owner at most as many as there is room left. Thus
// one flooding owner occupies at most half of the capacity, and two at most two thirds.
//
// Each entry costs some 50 bytes when V is of at most eight. A dropped generation gives its memory
// back, also when the map is not used any more.
type Map[V any] struct {
	seeds [2]maphash.Seed

	mu          sync.Mutex
	capacity    int
	generations []generation[V] // in the order of their ends
	n           int             // entries of all generations
	timer       *time.Timer     // drops the first generation; nil before the first
	closed      bool
}

// generation has the entries that expire at one time.
type generation[V any] struct {
	end     time.Time
	entries map[Key]V
	owners  map[Owner]int // number of their entries
}

// New returns an empty map for that many entries. [Map.Close] ends its timer.
func New[V any](capacity int) *Map[V] {
	return &Map[V]{capacity: capacity, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// Key returns the key of an identity, given by its parts.
func (m *Map[V]) Key(parts ...string) Key {
	var room [256]byte
	text := room[:0]
	for _, p := range parts { // each with its length
		n := len(p)
		text = append(text, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		text = append(text, p...)
	}
	return Key{maphash.Bytes(m.seeds[0], text), maphash.Bytes(m.seeds[1], text)}
}

// Owner returns the owner of that name. It is not [NoOwner].
func (m *Map[V]) Owner(name string) Owner { return Owner(maphash.String(m.seeds[0], name) | 1) }

// Add adds an entry that is kept until then, or a little longer. If there is one with that key, it
// stays as it is, and Add returns its value.
func (m *Map[V]) Add(k Key, o Owner, v V, now, until time.Time) (V, Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(now)
	owned := 0
	for i := range m.generations {
		g := &m.generations[i]
		if known, ok := g.entries[k]; ok {
			return known, Known
		}
		owned += g.owners[o] // of NoOwner there are none
	}
	if m.n >= m.capacity || o != NoOwner && owned >= m.capacity-m.n {
		return v, Full
	}
	g := m.generationLocked(now, until)
	g.entries[k] = v
	if o != NoOwner {
		g.owners[o]++
	}
	m.n++
	return v, Added
}

// Delete deletes an entry of an owner.
func (m *Map[V]) Delete(k Key, o Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.generations {
		g := &m.generations[i]
		if _, ok := g.entries[k]; !ok {
			continue
		}
		delete(g.entries, k)
		m.n--
		if g.owners[o]--; g.owners[o] <= 0 {
			delete(g.owners, o)
		}
		return
	}
}

// Close drops all entries. Later ones are kept until the next use of the map.
func (m *Map[V]) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.generations, m.n = true, nil, 0
	if m.timer != nil {
		m.timer.Stop()
	}
}

// width returns the time between the ends of the generations for entries that are kept for d: a
// power of two of seconds. A map whose entries are all kept equally long has at most six
// generations, and keeps them at most a third longer, or a second.
func width(d time.Duration) time.Duration {
	w := time.Second
	for ; w < d/4; w *= 2 {
	}
	return w
}

// generationLocked returns the generation of the entries that are kept until then.
func (m *Map[V]) generationLocked(now, until time.Time) *generation[V] {
	w := width(until.Sub(now))
	end := until.Truncate(w)
	if end.Before(until) || !end.After(now) {
		end = end.Add(w)
	}
	i, ok := slices.BinarySearchFunc(m.generations, end, func(g generation[V], end time.Time) int { return g.end.Compare(end) })
	if !ok {
		m.generations = slices.Insert(m.generations, i, generation[V]{end, make(map[Key]V), make(map[Owner]int)})
		m.armLocked(now)
	}
	return &m.generations[i]
}

// dropLocked drops the generations that have expired.
func (m *Map[V]) dropLocked(now time.Time) {
	n := 0
	for n < len(m.generations) && !now.Before(m.generations[n].end) {
		m.n -= len(m.generations[n].entries)
		n++
	}
	if n > 0 {
		m.generations = slices.Delete(m.generations, 0, n)
	}
}

// armLocked has the first generation dropped at its end.
func (m *Map[V]) armLocked(now time.Time) {
	switch {
	case m.closed || len(m.generations) == 0:
	case m.timer == nil:
		m.timer = time.AfterFunc(m.generations[0].end.Sub(now), m.expire)
	default:
		m.timer.Reset(m.generations[0].end.Sub(now))
	}
}

func (m *Map[V]) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.dropLocked(now)
	m.armLocked(now)
}
