package relay

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// refused notes that a copy of a message to the agent behind the session has not arrived, for the
// reason of that code. It returns the name by which the sender knows the worker, and reports
// whether the sender waits in a record.
func (r *Relay) refused(p passage, code performatives.Code) (voice performatives.AgentID, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.findLocked(p)
	if t == nil || t.tombstone || t.asked.ID() != p.message.ID() {
		return "", false
	}
	voice = t.voice()
	if t.copyRefused(code) {
		r.tombstoneLocked(t, performatives.Failure{}) // the peer may have got it all the same
	}
	return voice, true
}

// The reasons for the end of what a lost agent has asked or works on.
var (
	Disconnected = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected"}
	Replaced     = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected, and has come back"}
)

// EndRecords ends the records of the link, which is closed. None begins afterwards.
func (l *Link) EndRecords(why performatives.Failure) {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	l.lost = true
	r.finishLocked(slices.Collect(maps.Keys(r.of[l])), why)
}

// AgentStopped ends the records of an agent of this process that has stopped. The agent is told
// nothing: its next run may have begun.
func (r *Relay) AgentStopped(id performatives.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.of) > 0 {
		r.finishLocked(slices.Collect(maps.Keys(r.of[id.Fold()])), performatives.Failure{ErrorCode: performatives.CodeStopped}, party{id: id})
	}
}

// Moved notes that an agent is at another destination now: behind the link to, or nil for one that
// is not known yet. Its records there are those that were behind the link from, or nil for an agent
// of this process.
func (r *Relay) Moved(id performatives.AgentID, from, to *Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, now := party{id.Fold(), from}, party{id.Fold(), to}
	if to != nil && to.lost {
		return
	}
	for t := range maps.Clone(r.of[was.key()]) {
		if t.worker.via != from || !t.worker.id.Is(id) {
			continue
		}
		r.unlistLocked(t)
		t.worker = party{t.worker.id, now.via}
		r.listLocked(t)
	}
}

// Follow notes that an agent has moved from one session to another, also to one of another node.
// The new session gets the answers to the agent's requests. Of a request to a third node, the
// record of that node stands.
func (r *Relay) Follow(id performatives.AgentID, from, to *Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range maps.Clone(r.of[from]) {
		switch {
		case t.asker.via != from || !t.asker.id.Is(id):
			continue
		case to.kind == Node && t.worker.via != nil && t.worker.via.kind == Node:
			r.removeLocked(t)
			continue
		}
		r.unlistLocked(t)
		t.asker.via = to
		r.listLocked(t)
		if to.kind == Session {
			r.scheduleLocked(t, t.deadline(t.asked, false, time.Now())) // without the grace of an asker of another node
		}
	}
}

// LoseWorker ends the records of what an agent works on behind the link, which it has left. It gets
// no CANCEL where it is now.
func (l *Link) LoseWorker(id performatives.AgentID) {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	var last []ending
	for t := range maps.Clone(r.of[l]) {
		if t.worker.via != l || !t.worker.id.Is(id) {
			continue
		}
		if e := r.tombstoneLocked(t, Replaced); e.request != nil {
			e.tellWorker = false
			last = append(last, e)
		}
	}
	r.say(last, r.closed)
}

// Workers returns the agents behind the link that work on open records, by folded id.
func (l *Link) Workers() (ids []performatives.AgentID) {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	for t := range l.relay.of[l] {
		if t.worker.via == l {
			ids = append(ids, t.worker.id.Fold())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// HandedOver notes that an agent of this process continues behind the link to. A record of an asker
// of another node ends: the one of that node stands.
func (r *Relay) HandedOver(id performatives.AgentID, to *Link) {
	r.mu.Lock()
	for t := range maps.Clone(r.of[id.Fold()]) {
		if l := t.asker.via; l != nil && l.kind == Node {
			r.removeLocked(t)
		}
	}
	r.mu.Unlock()
	r.Moved(id, nil, to)
}

// Close ends all records when the node has stopped.
func (r *Relay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.stopTimer != nil {
		r.stopTimer()
	}
	r.finishLocked(slices.Collect(maps.Keys(r.openRecordsLocked())), performatives.Failure{ErrorCode: performatives.CodeStopped})
}

// finishLocked tells both parties of records that they are over, except for those that have gone:
// the asker by FAILURE in the worker's name, the worker by CANCEL in the asker's.
func (r *Relay) finishLocked(ended []*record, why performatives.Failure, gone ...party) {
	var last []ending
	for _, t := range ended {
		e := r.tombstoneLocked(t, why)
		if e.request == nil {
			continue
		}
		for _, p := range gone {
			e.tellAsker = e.tellAsker && !p.is(e.asker)
			e.tellWorker = e.tellWorker && !p.is(e.worker)
		}
		last = append(last, e)
	}
	slices.SortFunc(last, func(a, b ending) int { // the sets of records have no order
		return cmp.Or(a.request.Timestamp().Compare(b.request.Timestamp()), cmp.Compare(a.request.ID(), b.request.ID()))
	})
	r.say(last, r.closed)
}

// ending describes the last messages of a record that has ended.
type ending struct {
	record                *record
	why                   performatives.Failure
	asker, worker         party
	tellAsker, tellWorker bool
	voice                 performatives.AgentID  // of the worker
	request               *performatives.Message // that opened it; nil: nothing remains to be said
	asked                 *performatives.Message // the latest of the asker that expects a reply
}

// tombstoneLocked ends a record and keeps what refuses a late reply, in place of the oldest
// tombstone if there are too many.
func (r *Relay) tombstoneLocked(t *record, why performatives.Failure) ending {
	e := ending{record: t, why: why, asker: t.asker, worker: t.worker, voice: t.voice(), request: t.first, asked: t.asked}
	e.tellAsker, e.tellWorker = !t.asker.lost(), !t.worker.lost() && t.asked.Performative() != performatives.ActCancel
	r.unlistLocked(t)
	if t.conversing { // the conversation of the worker has lost its peer, or has its own deadline
		r.removeLocked(t)
		return ending{}
	}
	t.keys = slices.Clone(t.keys) // a copy, so that the tombstone does not keep the recordRoom
	for i, k := range t.keys {    // which may be parts of messages
		if r.index[k] == t {
			delete(r.index, k)
			k = recordKey{strings.Clone(k.name), cloned(k.asker), cloned(k.worker)}
			t.keys[i], r.index[k] = k, t
		}
	}
	t.tombstone, t.first, t.asked, t.latest, t.cancel, t.ids, t.progress = true, nil, nil, nil, nil, nil, nil
	if until := time.Now().Add(t.patience()); t.due.Before(until) {
		r.scheduleLocked(t, until)
	}
	if r.tombstones.Len() >= maxTombstones {
		r.removeLocked(r.tombstones.Front().Value.(*record)) //nolint:forcetypeassert // the list has no others
	}
	t.kept = r.tombstones.PushBack(t)
	return e
}

func cloned(id performatives.AgentID) performatives.AgentID {
	return performatives.AgentID(strings.Clone(string(id)))
}

// scheduleLocked sets the deadline of a record.
func (r *Relay) scheduleLocked(t *record, due time.Time) {
	t.due = due
	switch {
	case due.IsZero() && t.place != 0:
		heap.Remove(&r.due, t.place-1)
	case due.IsZero():
	case t.place != 0:
		heap.Fix(&r.due, t.place-1)
	default:
		heap.Push(&r.due, t)
	}
	r.armLocked()
}

// armLocked sets the timer for the earliest deadline, unless it is set for that or an earlier time.
func (r *Relay) armLocked() {
	if len(r.due) == 0 || r.closed {
		return
	}
	due := r.due[0].due
	if !r.wake.IsZero() && !due.Before(r.wake) {
		return
	}
	if r.stopTimer != nil {
		r.stopTimer()
	}
	r.wake = due
	r.stopTimer = r.system.AfterFunc(time.Until(due), r.expire)
}

// timedOut is the reason that a worker gets when the request that it works on has expired.
var timedOut = performatives.Failure{ErrorCode: performatives.CodeTimeout, ErrorText: "the deadline of the request has passed"}

// expire ends the records whose deadline has passed.
func (r *Relay) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake = time.Time{}
	var late []*record
	for now := time.Now(); len(r.due) > 0 && !now.Before(r.due[0].due); {
		t := r.due[0]
		heap.Pop(&r.due)
		if t.tombstone || t.broadcast || t.uncertain() {
			r.removeLocked(t)
			continue
		}
		late = append(late, t)
	}
	r.finishLocked(late, timedOut)
	r.armLocked()
}

// dueHeap orders records by their deadline. It implements [heap.Interface].
type dueHeap []*record

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push appends a *record.
func (h *dueHeap) Push(x any) {
	t := x.(*record) //nolint:forcetypeassert // heap.Push passes nothing else
	*h = append(*h, t)
	t.place = len(*h)
}

// Pop removes the last *record.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = 0
	return t
}
