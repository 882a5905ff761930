package relay

import (
	"container/heap"
	"slices"

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
	if t := r.index[recordKey{name: m.InReplyTo(), asker: from}]; t != nil && t.worker.id.Is(p.to.id) && m.InReplyTo() != "" {
		return t
	}
	return nil
}

// referLocked adds a key to a record. A later record with the same key takes it over.
func (r *Relay) referLocked(t *record, k recordKey) {
	k.asker, k.worker = k.asker.Fold(), k.worker.Fold()
	if r.index[k] == t {
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

// listLocked adds an open record to those of its parties.
func (r *Relay) listLocked(t *record) {
	for side := range t.sides() {
		of := r.of[side.key()]
		if of == nil {
			of = make(map[*record]struct{})
			r.of[side.key()] = of
		}
		of[t] = struct{}{}
		side.via.addWeight(t.weight())
	}
}

// unlistLocked takes a record out of those of its parties.
func (r *Relay) unlistLocked(t *record) {
	for side := range t.sides() {
		of := r.of[side.key()]
		if _, listed := of[t]; !listed {
			continue
		}
		delete(of, t)
		side.via.addWeight(-t.weight())
		if len(of) == 0 {
			delete(r.of, side.key())
		}
	}
}

func (r *Relay) removeLocked(t *record) {
	if t.gone {
		return
	}
	r.unlistLocked(t)
	t.gone = true
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
