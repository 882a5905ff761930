package recent

import "time"

// MaxEntries is the largest number of entries of a [Map]. It has at least the latest half of them.
const MaxEntries = 1024

// Lifetime is the time after which an entry of a [Map] is no longer found.
const Lifetime = 5 * time.Minute

// Map is a map with the latest entries. The zero value is empty. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	young, old map[K]entry[V] // half of the entries each; a key is in one of them
}

type entry[V any] struct {
	value   V
	expires time.Time
}

// Put adds an entry, or replaces the one with that key. When one half is full, the other, with the
// oldest entries, is dropped.
func (m *Map[K, V]) Put(k K, v V, now time.Time) {
	if len(m.young) >= MaxEntries/2 {
		m.young, m.old = nil, m.young
	}
	delete(m.old, k)
	if m.young == nil {
		m.young = make(map[K]entry[V])
	}
	m.young[k] = entry[V]{v, now.Add(Lifetime)}
}

// Get returns the entry with that key. It reports false if there is none, or if it has expired.
func (m *Map[K, V]) Get(k K, now time.Time) (v V, ok bool) {
	e, ok := m.young[k]
	if !ok {
		e, ok = m.old[k]
	}
	if !ok || now.After(e.expires) {
		return v, false
	}
	return e.value, true
}

// Len returns the number of entries, with those that have expired.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }
