package events

import "sync"

// lane is one of the places where a stream queues events for [Batches]. Publishers on different
// processors use different lanes: they do not wait for each other, and a processor rarely writes
// where another one has just written, which would be slow.
type lane struct {
	mu    sync.Mutex // held while an event is numbered and queued
	index int

	_ [cachePad]byte
}

// cachePad separates in memory what different processors write, in bytes: two cache lines, because
// processors fetch them in pairs.
const cachePad = 128

// maxLanes bounds the work to bring the events of all lanes into one order.
const maxLanes = 8

// lanes are the lanes of a stream. An event gets its number and is queued under the lock of one
// lane, or of all. So the events of a lane are in the order of their numbers, and with all lanes
// locked, every event that has a number is in its queue.
type lanes struct {
	all  []lane
	idle sync.Pool // of *lane: a processor gets the one that it has put back

	mu    sync.Mutex
	given int // how many lanes idle.New has given out: it chooses the next one
}

func newLanes(n int) *lanes {
	l := &lanes{all: make([]lane, min(n, maxLanes))}
	for i := range l.all {
		l.all[i].index = i
	}
	l.idle.New = func() any {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.given++
		return &l.all[l.given%len(l.all)]
	}
	return l
}

// take returns the lane of the processor, not locked; another one may have it, too. The caller
// gives it back.
func (l *lanes) take() *lane {
	if len(l.all) == 1 {
		return &l.all[0]
	}
	return l.idle.Get().(*lane) //nolint:forcetypeassert // there are no others
}

func (l *lanes) giveBack(taken *lane) {
	if len(l.all) > 1 {
		l.idle.Put(taken)
	}
}

// lock locks all lanes. l may be nil.
func (l *lanes) lock() {
	if l == nil {
		return
	}
	for i := range l.all {
		l.all[i].mu.Lock()
	}
}

func (l *lanes) unlock() {
	if l == nil {
		return
	}
	for i := range l.all {
		l.all[i].mu.Unlock()
	}
}
