package actors

import "github.com/ribosome-agents/ribosome/performatives"

// conversationQueue is the queue of a [ConversationActor]: four bounded bands with the order
// of a [Mailbox]. Most conversations have one band and at most two queued messages, and need
// no memory beside it. The zero value is empty. It is guarded by the actor's mu.
type conversationQueue struct {
	main   fifo   // the band of the first message
	few    [2]any // the first memory of main
	band   uint8  // of main, plus one; zero before the first message
	long   int32  // KiB of queued long messages
	others *otherBands
}

// otherBands are the bands of a conversation that has received messages in several of them.
type otherBands struct {
	bands     [performatives.Bands]fifo // that of main stays empty
	scheduler bandScheduler
}

// push appends a message to a band. It reports false for a message that exceeds a bound and is
// not exempt.
func (q *conversationQueue) push(message any, band int, exempt bool, config *mailboxConfig) bool {
	if q.band == 0 {
		q.band, q.main.items = uint8(band)+1, q.few[:0]
	}
	f := q.fifo(band)
	if exempt {
		f.push(message)
		return true
	}
	long := longOf(message)
	if f.len() >= int(config.capacity) || long > 0 && q.long > 0 && q.long+long > config.longLimit {
		return false
	}
	q.long += long
	f.push(message)
	return true
}

// longOf returns the size in KiB of a message that has a weight, and zero for any other.
func longOf(message any) int32 {
	if m, ok := message.(*performatives.Message); ok && m.Weight() > 0 {
		return kibibytes(m.Weight())
	}
	return 0
}

// fifo returns the queue of a band.
func (q *conversationQueue) fifo(band int) *fifo {
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
	if q.main.len() > 0 {
		bands = 1 << (q.band - 1)
	}
	if q.others == nil {
		return bands
	}
	for i := range q.others.bands {
		if q.others.bands[i].len() > 0 {
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
		f = q.fifo(q.others.scheduler.next(q.waiting()))
	}
	message := f.pop()
	q.long -= longOf(message)
	return message
}

// keptItems is the largest capacity that an empty fifo keeps.
const keptItems = 64

// fifo is a queue in one slice.
type fifo struct {
	items []any
	head  int // index of the oldest message; those before it are nil
}

func (f *fifo) len() int { return len(f.items) - f.head }

// push appends a message. Before the slice grows, it reuses the places of popped messages, if
// they are at least half of it.
func (f *fifo) push(message any) {
	if len(f.items) == cap(f.items) && f.head > 0 && f.head >= f.len() {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, message)
}

// pop returns the oldest message. The queue must not be empty.
func (f *fifo) pop() any {
	message := f.items[f.head]
	f.items[f.head] = nil
	f.head++
	if f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
		if cap(f.items) > keptItems {
			f.items = nil
		}
	}
	return message
}
