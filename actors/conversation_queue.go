package actors

import (
	"github.com/ribosome-agents/ribosome/internal/fifo"
	"github.com/ribosome-agents/ribosome/performatives"
)

// conversationQueue is the queue of a [ConversationActor]: four bounded bands with the order
// of a [Mailbox]. Most conversations have one band and at most two queued messages, and need
// no memory beside it. The zero value is empty. It is guarded by the actor's mu.
type conversationQueue struct {
	main   fifo.Queue[any] // the band of the first message
	few    [2]any          // the first memory of main
	band   uint8           // of main, plus one; zero before the first message
	long   int32           // KiB of queued long messages
	others *otherBands
}

// otherBands are the bands of a conversation that has received messages in several of them.
type otherBands struct {
	bands     [performatives.Bands]fifo.Queue[any] // that of main stays empty
	scheduler bandScheduler
}

// push appends a message to a band. It reports false for a message that exceeds a bound and is
// not exempt.
func (q *conversationQueue) push(message any, band int, exempt bool, config *mailboxConfig) bool {
	if q.band == 0 {
		q.band, q.main = uint8(band)+1, fifo.In(q.few[:0])
	}
	f := q.of(band)
	if exempt {
		f.Push(message)
		return true
	}
	long := longOf(message)
	if f.Len() >= int(config.capacity) || long > 0 && q.long > 0 && q.long+long > config.longLimit {
		return false
	}
	q.long += long
	f.Push(message)
	return true
}

// longOf returns the size in KiB of a message that has a weight, and zero for any other.
func longOf(message any) int32 {
	if m, ok := message.(*performatives.Message); ok && m.Weight() > 0 {
		return kibibytes(m.Weight())
	}
	return 0
}

// of returns the queue of a band.
func (q *conversationQueue) of(band int) *fifo.Queue[any] {
	if band == int(q.band)-1 {
		return &q.main
	}
	if q.others == nil {
		q.others = new(otherBands)
	}
	return &q.others.bands[band]
}

// waiting returns a bit for each band that is not empty.
func (q *conversationQueue) waiting() (bands uint8) {
	if q.main.Len() > 0 {
		bands = 1 << (q.band - 1)
	}
	if q.others == nil {
		return bands
	}
	for i := range q.others.bands {
		if q.others.bands[i].Len() > 0 {
			bands |= 1 << i
		}
	}
	return bands
}

func (q *conversationQueue) empty() bool { return q.waiting() == 0 }

// pop returns the next message. The queue must not be empty.
func (q *conversationQueue) pop() any {
	f := &q.main
	if q.others != nil {
		f = q.of(q.others.scheduler.next(q.waiting()))
	}
	message := f.Pop(keptItems)
	q.long -= longOf(message)
	return message
}

// clear removes all messages and returns them, the higher bands first.
func (q *conversationQueue) clear() (all []any) {
	for !q.empty() {
		all = append(all, q.pop())
	}
	return all
}

// keptItems is the largest capacity that an empty queue of a band keeps.
const keptItems = 64
