package observe

import (
	"github.com/ribosome-agents/ribosome/performatives"
)

// entries has the recorded conversations by their ids, and in the order of their latest events. The
// entries themselves are the links of the list: to forget the oldest one and to add another takes no
// memory.
type entries struct {
	newest, oldest *entry
	by             map[performatives.ConversationID]*entry
}

func newEntries() entries { return entries{by: make(map[performatives.ConversationID]*entry)} }

// add adds an entry, as the newest one, whose id is not known.
func (l *entries) add(e *entry) {
	l.by[e.id] = e
	l.link(e)
}

// remove removes an entry.
func (l *entries) remove(e *entry) {
	delete(l.by, e.id)
	l.unlink(e)
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
