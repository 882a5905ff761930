package subscribe

// ring is a bounded first-in-first-out buffer. Its memory grows with the largest number of
// elements that it has held. It has no lock of its own.
type ring[E any] struct {
	items   []E // grows up to room
	room    int // capacity
	head, n int
}

func (r *ring[E]) full() bool { return r.n == r.room }

// push adds e as the newest element. The ring must not be full.
func (r *ring[E]) push(e E) {
	r.grow()
	r.items[(r.head+r.n)%len(r.items)] = e
	r.n++
}

// putBack adds e as the oldest element. The ring must not be full.
func (r *ring[E]) putBack(e E) {
	r.grow()
	r.head = (r.head + len(r.items) - 1) % len(r.items)
	r.items[r.head] = e
	r.n++
}

// pop removes and returns the oldest element. The ring must not be empty.
func (r *ring[E]) pop() E {
	var none E
	e := r.items[r.head]
	r.items[r.head] = none
	r.head = (r.head + 1) % len(r.items)
	r.n--
	return e
}

// oldest returns the element that pop would remove. The ring must not be empty.
func (r *ring[E]) oldest() *E { return r.at(0) }

// at returns the i-th element, from 0 for the oldest. The ring must have more than i.
func (r *ring[E]) at(i int) *E { return &r.items[(r.head+i)%len(r.items)] }

// grow makes room for one more element.
func (r *ring[E]) grow() {
	if r.n < len(r.items) {
		return
	}
	items := make([]E, min(r.room, max(16, 2*len(r.items))))
	for i := range r.n {
		items[i] = r.items[(r.head+i)%len(r.items)]
	}
	r.items, r.head = items, 0
}
