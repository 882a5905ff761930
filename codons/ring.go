package codons

// ring is a queue with a bound, which takes memory only for as many as have waited in it
// at a time. Whoever has it sees to its being locked.
type ring[E any] struct {
	items   []E // grows up to room
	room    int // how many may wait
	head, n int
}

func (r *ring[E]) full() bool { return r.n == r.room }

// push adds the newest. The ring must not be full.
func (r *ring[E]) push(e E) {
	r.grow()
	r.items[(r.head+r.n)%len(r.items)] = e
	r.n++
}

// putBack adds the oldest. The ring must not be full.
func (r *ring[E]) putBack(e E) {
	r.grow()
	r.head = (r.head + len(r.items) - 1) % len(r.items)
	r.items[r.head] = e
	r.n++
}

// pop takes the oldest. The ring must not be empty.
func (r *ring[E]) pop() E {
	var none E
	e := r.items[r.head]
	r.items[r.head] = none
	r.head = (r.head + 1) % len(r.items)
	r.n--
	return e
}

// oldest is what pop would take. The ring must not be empty.
func (r *ring[E]) oldest() *E { return &r.items[r.head] }

// grow makes place for one more.
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
