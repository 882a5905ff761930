package recent

import "time"

// MaxEntries is the largest number of entries of a [Map]. When it is full, the oldest entry makes
// room.
const MaxEntries = 1024

// Lifetime is the time after which an entry of a [Map] is no longer found.
const Lifetime = 5 * time.Minute

// Map is a map with the latest entries. The zero value is empty. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	entries map[K]entry[V]
	order   []turn[K] // the oldest first; a turn is void when its entry was deleted or put again
	turns   uint64
}

type entry[V any] struct {
	value   V
	expires time.Time
	turn    uint64
}

type turn[K comparable] struct {
	key K
	n   uint64
}

// Put adds an entry, or replaces the one with that key. Beyond MaxEntries, the oldest entries are
// dropped.
func (m *Map[K, V]) Put(k K, v V, now time.Time) {
	if m.entries == nil {
		m.entries = make(map[K]entry[V])
	}
	m.turns++
	m.entries[k] = entry[V]{v, now.Add(Lifetime), m.turns}
	m.order = append(m.order, turn[K]{k, m.turns})
	if len(m.order) > MaxEntries {
		m.drop(m.order[0])
		m.order = m.order[1:]
	}
}

// drop deletes the entry of a turn, unless it was put again later.
func (m *Map[K, V]) drop(t turn[K]) {
	if m.entries[t.key].turn == t.n {
		delete(m.entries, t.key)
	}
}

// Get returns the entry with that key. It reports false if there is none, or if it has expired.
func (m *Map[K, V]) Get(k K, now time.Time) (v V, ok bool) {
	e, ok := m.entries[k]
	if !ok {
		return v, false
	}
	if now.After(e.expires) {
		delete(m.entries, k)
		return v, false
	}
	return e.value, true
}

// Len returns the number of entries, with those that have expired and were not looked up since.
func (m *Map[K, V]) Len() int { return len(m.entries) }
