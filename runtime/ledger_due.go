package runtime

import "container/heap"

// dueHeap orders open conversations by the time when nobody waits any more. It implements
// [heap.Interface].
type dueHeap []*talk

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push appends a *talk.
func (h *dueHeap) Push(x any) {
	t := x.(*talk)
	*h = append(*h, t)
	t.place = len(*h)
}

// Pop removes the last *talk.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = 0
	return t
}

// placeLocked puts t, which is open, where its due time belongs.
func (l *ledger) placeLocked(t *talk) {
	switch {
	case t.place != 0:
		heap.Fix(&l.due, t.place-1)
	case !t.due.IsZero():
		heap.Push(&l.due, t)
	}
}

func (l *ledger) unplaceLocked(t *talk) {
	if t.place != 0 {
		heap.Remove(&l.due, t.place-1)
	}
}
