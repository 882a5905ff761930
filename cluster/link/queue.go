package link

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// parcel is a message with its encoded form.
type parcel struct {
	message *performatives.Message
	data    []byte
	memory  *[]byte // that of data, which returns to forms; nil: data is not reused
}

// forms has memory for the encoded forms of messages that are shorter than short. A frame copies
// these forms, so that nothing refers to one after release.
var forms = sync.Pool{New: func() any { return new([]byte) }}

// release gives back the memory of a parcel that is not sent again.
func (p *parcel) release() {
	if p.memory != nil {
		forms.Put(p.memory)
	}
	*p = parcel{}
}

// queue is a first-in-first-out queue, which reuses its memory.
type queue struct {
	items []parcel // those before head are zero
	head  int
}

// maxIdle is the largest number of parcels for which an empty queue keeps memory: that of a longer
// burst is given back. A parcel has 40 bytes, so that after bursts a link keeps up to 160 KiB for
// each band, and as much for the messages under way.
const maxIdle = 4096

func (q *queue) len() int { return len(q.items) - q.head }

// all returns the parcels in order.
func (q *queue) all() []parcel { return q.items[q.head:] }

func (q *queue) push(p parcel) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 { // each parcel is moved once at most, on average
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, p)
}

// pop removes the first parcel, which must exist.
func (q *queue) pop() parcel {
	p := q.items[q.head]
	q.items[q.head] = parcel{}
	q.head++
	switch {
	case q.len() > 0:
	case cap(q.items) > maxIdle:
		*q = queue{}
	default:
		q.items, q.head = q.items[:0], 0
	}
	return p
}
