package expiring

import "time"

// Get returns the value of an entry, and whether there is one.
func (m *Map[V]) Get(k Key, now time.Time) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(now)
	for _, g := range m.generations {
		if v, ok := g.entries[k]; ok {
			return v, true
		}
	}
	var none V
	return none, false
}

// Len returns the number of entries, with those that have expired and were not dropped yet.
func (m *Map[V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}
