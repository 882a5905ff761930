package sealed

import (
	"container/heap"
	"time"
)

// seen has the ids of the sealed payloads that were opened, until they have expired anyway. It is
// guarded by Sealer.mu.
type seen struct {
	max int
	ids map[string]struct{}
	due expiries
}

type expiry struct {
	id string
	at time.Time
}

// expiries is a heap with the earliest first.
type expiries []expiry

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e expiries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push is that of a heap.
func (e *expiries) Push(x any) { *e = append(*e, x.(expiry)) } //nolint:forcetypeassert // nothing else is pushed

// Pop is that of a heap.
func (e *expiries) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// note notes an id, which counts until it expires. It reports whether the id is new, and whether
// there was room.
func (s *seen) note(id string, until, now time.Time) (fresh, room bool) {
	for len(s.due) > 0 && now.After(s.due[0].at) {
		delete(s.ids, s.due[0].id)
		heap.Pop(&s.due)
	}
	if _, ok := s.ids[id]; ok {
		return false, true
	}
	if len(s.ids) >= s.max {
		return true, false
	}
	s.ids[id] = struct{}{}
	heap.Push(&s.due, expiry{id, until})
	return true, true
}
