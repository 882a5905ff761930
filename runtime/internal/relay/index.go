package relay

import (
	"container/heap"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// findLocked returns the record of a message, or nil.
func (r *Relay) findLocked(p passage) *record {
	if len(r.index) == 0 {
		return nil
	}
	m, from, to := p.message, p.from.id.Fold(), p.to.id.Fold()
	conversation := string(m.ConversationID())
	act := m.Performative()
	answers := act.IsReply() || !act.ExpectsReply() || act == performatives.ActPropose
	if answers {
		if t := r.index[recordKey{name: m.InReplyTo(), asker: to}]; t != nil && t.worker.id.Is(p.from.id) && m.InReplyTo() != "" {
			return t
		}
		if t := r.index[recordKey{conversation, to, from}]; t != nil {
			return t
		}
	}
	if t := r.index[recordKey{conversation, from, to}]; t != nil {
		return t
	}
	if t := r.index[recordKey{name: m.InReplyTo(), asker: from}]; t != nil && t.names(p.to.id) && m.InReplyTo() != "" {
		return t
	}
	return nil
}

// referLocked adds a key to a record. A later record with the same key takes it over.
func (r *Relay) referLocked(t *record, k recordKey) {
	k.asker, k.worker = k.asker.Fold(), k.worker.Fold()
	if slices.Contains(t.keys, k) && r.index[k] == t {
		return
	}
	if len(t.keys) == maxRecordKeys { // the first two are of the conversation id
		r.unreferLocked(t, t.keys[2])
		t.keys = slices.Delete(t.keys, 2, 3)
	}
	t.keys = append(t.keys, k)
	r.index[k] = t
}

func (r *Relay) unreferLocked(t *record, k recordKey) {
	if r.index[k] == t {
		delete(r.index, k)
	}
}

// recordList has the open records of a link, or of an agent of this process, in no order. A record
// knows its place in it.
type recordList []listing

// listing is an open record in the list of one of its parties.
type listing struct {
	*record
	side int // 0: the asker's list, or that of both; 1: the worker's
}

// listLocked adds an open record to the lists of its parties.
func (r *Relay) listLocked(t *record) {
	for side, p := range t.sides() {
		of := r.of[p.key()]
		if of == nil {
			of = new(recordList)
			r.of[p.key()] = of
		}
		*of = append(*of, listing{t, side})
		t.listed[side] = len(*of)
		p.via.count(1, t.weight())
	}
}

// unlistLocked takes a record out of the lists of its parties. The last of a list takes its
// place.
func (r *Relay) unlistLocked(t *record) {
	for side, p := range t.sides() {
		place := t.listed[side]
		if place == 0 {
			continue
		}
		of := r.of[p.key()]
		end := len(*of) - 1
		last := (*of)[end]
		(*of)[place-1], last.listed[last.side] = last, place
		(*of)[end], t.listed[side] = listing{}, 0
		*of = (*of)[:end]
		p.via.count(-1, -t.weight())
		if end == 0 {
			delete(r.of, p.key())
		}
	}
}

// eachLocked returns the open records of a key of Relay.of for which match returns true.
func (r *Relay) eachLocked(key any, match func(*record) bool) (all []*record) {
	of := r.of[key]
	if of == nil {
		return nil
	}
	for _, e := range *of {
		if match(e.record) {
			all = append(all, e.record)
		}
	}
	return all
}

// every matches each record.
func every(*record) bool { return true }

// each returns the open records of the link for which match returns true. Only the names of their
// parties may be read.
func (l *Link) each(match func(*record) bool) []*record {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	return l.relay.eachLocked(l, match)
}

// relistLocked moves a party of an open record behind another link; nil for an agent of this
// process, or one that is not known yet. A record between agents of two other nodes ends: that of
// the asker's node stands.
func (r *Relay) relistLocked(t *record, p *party, via *Link) {
	r.unlistLocked(t)
	if p.via = via; t.asker.behind(Node) && t.worker.behind(Node) {
		r.removeLocked(t)
		return
	}
	r.listLocked(t)
}

func (r *Relay) removeLocked(t *record) {
	if t.gone {
		return
	}
	r.unlistLocked(t)
	t.gone, t.latest = true, nil
	r.records.Add(-1)
	if t.tombstone {
		r.tombstones.Remove(t.kept)
	}
	if t.place != 0 {
		heap.Remove(&r.due, t.place-1)
	}
	for _, k := range t.keys {
		r.unreferLocked(t, k)
	}
}

// restoreLocked opens a removed record again, but for its deadline. A later record keeps its keys.
func (r *Relay) restoreLocked(t *record) {
	t.gone = false
	r.records.Add(1)
	for _, k := range t.keys {
		if r.index[k] == nil {
			r.index[k] = t
		}
	}
	r.listLocked(t)
}

// scheduleLocked sets the deadline of a record.
func (r *Relay) scheduleLocked(t *record, due time.Time) {
	if t.place != 0 {
		heap.Remove(&r.due, t.place-1)
	}
	if t.due = due; !due.IsZero() {
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
		if t.tombstone || t.first.Receiver() == "" || t.uncertain() { // a worker may remain silent about a broadcast
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
