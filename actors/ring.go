package actors

// ring is a FIFO queue in a ring buffer. The zero value is empty.
type ring[T any] struct {
	items []T   // their number is a power of two, or zero
	head  int32 // the index of the oldest
	n     int32 // of the values
}

// push appends a value.
func (r *ring[T]) push(v T) {
	if int(r.n) == len(r.items) {
		r.grow()
	}
	r.items[int(r.head+r.n)&(len(r.items)-1)] = v
	r.n++
}

func (r *ring[T]) grow() {
	items := make([]T, max(4, 2*r.n))
	n := copy(items, r.items[r.head:])
	copy(items[n:], r.items[:r.head])
	clear(r.items) // its owner may keep them
	r.items, r.head = items, 0
}

// pop removes and returns the oldest value, and reports false if there is none. An empty ring with
// room for more than so many values gives its memory back.
func (r *ring[T]) pop(kept int) (v T, ok bool) {
	if r.n == 0 {
		return v, false
	}
	at := &r.items[r.head]
	v, *at = *at, v
	r.head = (r.head + 1) & int32(len(r.items)-1)
	r.n--
	if r.n == 0 && len(r.items) > kept {
		r.items, r.head = nil, 0
	}
	return v, true
}
