package observe

import (
	"hash/maphash"

	"github.com/ribosome-agents/ribosome/performatives"
)

// entries has the recorded conversations by their ids, and in the order of their latest events. The
// entries themselves are the links of the lists: to forget the oldest one and to add another takes
// no memory, and a map would hash the id again for it.
type entries struct {
	newest, oldest *entry
	n              int
	table          []*entry // by hash: the first entry of each bucket
	seed           maphash.Seed
}

func newEntries() entries {
	const buckets = 256 // at first; always a power of two
	return entries{table: make([]*entry, buckets), seed: maphash.MakeSeed()}
}

// find returns the entry with an id; nil if there is none.
func (l *entries) find(id performatives.ConversationID) *entry {
	hash := maphash.String(l.seed, string(id))
	e := *l.bucket(hash)
	for e != nil && (e.hash != hash || e.id != id) {
		e = e.next
	}
	return e
}

// bucket returns the head of the list of the entries whose hashes end alike.
func (l *entries) bucket(hash uint64) **entry { return &l.table[hash&uint64(len(l.table)-1)] }

// add adds an entry, as the newest one, whose id is not known.
func (l *entries) add(e *entry) {
	if l.n++; l.n > len(l.table) {
		l.grow()
	}
	e.hash = maphash.String(l.seed, string(e.id))
	at := l.bucket(e.hash)
	e.next, *at = *at, e
	l.link(e)
}

// grow doubles the table.
func (l *entries) grow() {
	l.table = make([]*entry, 2*len(l.table))
	for e := l.newest; e != nil; e = e.older {
		at := l.bucket(e.hash)
		e.next, *at = *at, e
	}
}

// remove removes an entry.
func (l *entries) remove(e *entry) {
	at := l.bucket(e.hash)
	for *at != e {
		at = &(*at).next
	}
	*at = e.next
	l.unlink(e)
	l.n--
}

// touch makes an entry the newest one.
func (l *entries) touch(e *entry) {
	l.unlink(e)
	l.link(e)
}

func (l *entries) link(e *entry) {
	if e.older = l.newest; e.older == nil {
		l.oldest = e
	} else {
		e.older.newer = e
	}
	l.newest = e
}

func (l *entries) unlink(e *entry) {
	if e.newer == nil {
		l.newest = e.older
	} else {
		e.newer.older = e.older
	}
	if e.older == nil {
		l.oldest = e.newer
	} else {
		e.older.newer = e.newer
	}
	e.newer, e.older = nil, nil
}
