package actors

import "github.com/ribosome-agents/ribosome/performatives"

// conversationQueue is the queue of a [ConversationActor]: four bounded bands with the order
// of a [Mailbox]. Most conversations have one band and at most two queued messages, and need
// no memory beside it. The zero value is empty. It is guarded by the actor's mu.
type conversationQueue struct {
	main   ring[any] // the band of the first message
	few    [2]any    // the first memory of main
	band   uint8     // of main, plus one; zero before the first message
	long   int32     // KiB of queued long messages
	others *otherBands
}

// otherBands are the bands of a conversation that has received messages in several of them.
type otherBands struct {
	bands     [performatives.Bands]ring[any] // that of main stays empty
	scheduler bandScheduler
}

// push appends a message to a band. It reports false for a message that exceeds a bound and is
// not exempt.
func (q *conversationQueue) push(message any, band int, exempt bool, config *mailboxConfig) bool {
	if q.band == 0 {
		q.band, q.main.items = uint8(band)+1, q.few[:]
	}
	r := q.of(band)
	if exempt {
		r.push(message)
		return true
	}
	long := longOf(message)
	if r.n >= config.capacity || long > 0 && q.long > 0 && q.long+long > config.longLimit {
		return false
	}
	q.long += long
	r.push(message)
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
func (q *conversationQueue) of(band int) *ring[any] {
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
	if q.main.n > 0 {
		bands = 1 << (q.band - 1)
	}
	if q.others == nil {
		return bands
	}
	for i := range q.others.bands {
		if q.others.bands[i].n > 0 {
			bands |= 1 << i
		}
	}
	return bands
}

// keptItems is the largest capacity that an empty band keeps.
const keptItems = 64

// pop removes and returns the next message, and reports false if there is none.
func (q *conversationQueue) pop() (message any, ok bool) {
	r := &q.main
	if q.others != nil {
		waiting := q.waiting()
		if waiting == 0 {
			return nil, false
		}
		r = q.of(q.others.scheduler.next(waiting))
	}
	message, ok = r.pop(keptItems)
	q.long -= longOf(message)
	return message, ok
}
