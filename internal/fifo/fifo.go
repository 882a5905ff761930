// Package fifo has a first-in-first-out queue.
package fifo

import "slices"

// Queue is a first-in-first-out queue in one slice, which it uses again. The zero value is empty. It
// is not safe for concurrent use.
type Queue[T any] struct {
	items []T // those before head are zero
	head  int
}

// In returns an empty queue whose first memory is the capacity of a slice of no length.
func In[T any](memory []T) Queue[T] { return Queue[T]{items: memory} }

// Len returns the number of elements.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// All returns the elements, the oldest first. It is valid until the next call of a method.
func (q *Queue[T]) All() []T { return q.items[q.head:] }

// Push appends an element.
func (q *Queue[T]) Push(v T) {
	if len(q.items) == cap(q.items) {
		q.makeRoom()
	}
	q.items = append(q.items, v)
}

// makeRoom uses the places of removed elements again if they are at least half of a full slice, so
// that each element is moved once at most, on average. Otherwise it doubles the slice, which append
// does for short ones only.
func (q *Queue[T]) makeRoom() {
	if q.head == 0 || q.head < q.Len() {
		q.items = slices.Grow(q.items, max(8, len(q.items)))
		return
	}
	n := copy(q.items, q.items[q.head:])
	clear(q.items[n:])
	q.items, q.head = q.items[:n], 0
}

// Pop removes the oldest element, which must exist, and returns it. An empty queue keeps the memory
// of at most so many elements: that of a longer burst is given back.
func (q *Queue[T]) Pop(keep int) T {
	v := q.items[q.head]
	var zero T
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		if cap(q.items) > keep {
			q.items = nil
		}
	}
	return v
}
