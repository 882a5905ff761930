package bridge

// maxEarly bounds the CANCELs that are kept for requests which have not come yet. Most of them are about
// requests that have just been answered.
const maxEarly = 1024

// recent is a map with the latest entries.
type recent[K comparable, V any] struct {
	entries map[K]V
	order   []K // the oldest first, and some that were taken
}

// put adds an entry, and drops the oldest ones beyond maxEarly.
func (r *recent[K, V]) put(k K, v V) {
	if r.entries == nil {
		r.entries = make(map[K]V)
	}
	if _, known := r.entries[k]; !known {
		r.order = append(r.order, k)
	}
	r.entries[k] = v
	if len(r.order) > maxEarly {
		delete(r.entries, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
}

// take removes an entry, and returns it.
func (r *recent[K, V]) take(k K) (v V, ok bool) {
	v, ok = r.entries[k]
	delete(r.entries, k)
	return v, ok
}
