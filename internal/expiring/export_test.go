package expiring

import "time"

// Get returns the value of an entry, and whether there is one.
func (m *Map[V]) Get(k Key, now time.Time) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropLocked(now)
	return m.getLocked(k)
}

// Len returns the number of entries, with those that have expired and were not dropped yet.
func (m *Map[V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}
