package runtime

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxTombstones is the largest number of ended records that are kept because a late reply may come.
const maxTombstones = 16_384

// records are the requests of a node that have no conversation here: see [record]. They are safe
// for concurrent use.
type records struct {
	node   *Node
	tables map[string]table // by the name of the codon
	say    func([]ending, bool)

	mu             sync.Mutex
	index          map[recordKey]*record
	of             map[any]map[*record]struct{} // the records by *link, or by the folded id of an agent of this process; tombstones are not in it
	due            dueHeap
	tombstones     []*record // the oldest first, and some that are gone
	goneTombstones int       // how many of tombstones are gone
	wake           time.Time // for which the timer is set; zero: it is not
	stopTimer      func() bool
	closed         bool
}

// table is a codon and the beginning of its conversations.
type table struct {
	codon *codons.Codon
	begin *machine.Progress
}

func newRecords(n *Node, all []*codons.Codon) *records {
	r := &records{node: n, say: n.sendEndings, tables: make(map[string]table), index: make(map[recordKey]*record), of: make(map[any]map[*record]struct{})}
	for _, c := range all {
		if m := c.Machine(); m != nil {
			r.tables[c.Name()] = table{c, machine.NewProgress(m)}
		}
	}
	return r
}

// passage is a message on its way between two agents that are not both of this process.
type passage struct {
	message  *performatives.Message
	from, to party
	as       performatives.AgentID // the namespace that the sender has named instead of the receiver; else empty
}

// noted is what note did about a message, to be taken back if the message cannot be passed on.
type noted struct {
	record   *record               // nil: there is nothing to take back
	as       performatives.AgentID // the namespace that the asker has named instead of the worker
	message  *performatives.Message
	began    bool
	ended    bool
	asks     bool // the message became record.asked
	asked    *performatives.Message
	copies   copies
	due      time.Time
	progress *machine.Progress
}

// note notes a message before it is passed on, because its receiver may act on it at once. The
// error is a [*performatives.Refusal]: the session is over, too many requests are open, or the
// asker was told an end before. note calls now only if the message opens a record or expects a
// reply.
func (r *records) note(p passage, now func() time.Time) (noted, error) {
	begins := r.begins(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.from.lost() || p.to.lost() {
		return noted{}, refusedCopy(p.message, performatives.CodeStopped, "the connection to the agent has closed")
	}
	t := r.findLocked(p)
	switch {
	case t == nil && !begins:
		return noted{}, r.admitLocked(p)
	case t == nil:
		return r.openLocked(p, now)
	case t.tombstone && t.roleOf(p.message) == machine.Responder:
		return noted{}, refusedCopy(p.message, performatives.CodeConversationEnded, "the asker was told an end before")
	case t.tombstone: // it asks again, or something else
		if t.knows(p.message.ID()) {
			r.removeLocked(t)
		}
		if !begins {
			return noted{}, nil
		}
		return r.openLocked(p, now)
	case t.latest == p.message: // it was noted at the namespace that it is for
		return noted{}, nil
	}
	n := noted{record: t, as: t.as, message: p.message, asked: t.asked, copies: t.copies, due: t.due, progress: t.progress}
	if p.message.Performative().ExpectsReply() && t.roleOf(p.message) == machine.Initiator {
		if !r.roomLocked(t, p) {
			return noted{}, refusedCopy(p.message, performatives.CodeBusy, textTooMany)
		}
		n.asks = true
		r.askLocked(t, p.message, now)
	}
	if n.ended = t.observe(p.message); n.ended {
		r.removeLocked(t)
	}
	return n, nil
}

const textTooMany = "too many conversations are open over this connection, or too long ones"

func refusedCopy(m *performatives.Message, code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, About: m.ID(), Text: text}
}

func (p party) lost() bool { return p.via != nil && p.via.lost }

// begins reports whether a message that belongs to no record begins one: it expects a reply or
// opens a conversation by its table, and no agent of this process has or opens a conversation for
// it.
func (r *records) begins(p passage) bool {
	m := p.message
	opens := m.Performative().ExpectsReply()
	if t, ok := r.tables[m.Protocol()]; ok {
		opens = opens || t.codon.Machine().Opens(m.Performative())
	}
	switch {
	case !opens:
		return false
	case p.as != "":
		return true
	case p.from.via == nil:
		return !r.node.system.Conversing(p.from.id, m.ConversationID(), p.to.id)
	case p.to.via == nil:
		return !r.node.system.Converses(p.to.id, m)
	}
	return true
}

// aliased returns the worker of the open record of a message to a namespace.
func (r *records) aliased(asker performatives.AgentID, m *performatives.Message) (performatives.AgentID, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asker = asker.Fold()
	for _, k := range [...]recordKey{{string(m.ConversationID()), asker, m.Receiver().Fold()}, {name: m.InReplyTo(), asker: asker}} {
		if t := r.index[k]; t != nil && !t.tombstone && t.as != "" && t.as.Is(m.Receiver()) {
			return t.worker.id, true
		}
	}
	return "", false
}

// has reports whether a message belongs to an open record.
func (r *records) has(p passage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.findLocked(p)
	return t != nil && !t.tombstone
}

// askersOf returns the agents that wait in open records for an answer of the worker to a message
// with that id.
func (r *records) askersOf(worker party, id performatives.MessageID) (all []performatives.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.of[worker.key()] {
		if t.worker.id.Is(worker.id) && t.knows(id) {
			all = append(all, t.asker.id)
		}
	}
	return all
}

// voiced reports whether m comes from the worker of an open record which the asker knows by another
// name.
func (r *records) voiced(m *performatives.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.findLocked(passage{message: m, from: party{id: m.Sender()}, to: party{id: m.Receiver()}})
	return t != nil && t.as != "" && t.worker.id.Is(m.Sender())
}

// openLocked begins a record.
func (r *records) openLocked(p passage, now func() time.Time) (noted, error) {
	if !r.roomLocked(nil, p) {
		return noted{}, refusedCopy(p.message, performatives.CodeBusy, textTooMany)
	}
	m := p.message
	t := &record{asker: p.from, worker: p.to, as: p.as, first: m, asked: m}
	room := new(recordRoom)
	t.ids, t.keys = room.ids[:0], room.keys[:0]
	t.broadcast = m.Receiver() == ""
	t.conversing = p.as != "" && p.to.via == nil && r.node.system.Converses(p.to.id, m)
	name := m.Protocol()
	if name == "" {
		name = r.node.system.ProtocolOf(m)
	}
	if table, ok := r.tables[name]; ok {
		t.codon, t.progress = table.codon, table.begin
	}
	if t.observe(m) {
		return noted{}, nil // a notice
	}
	r.listLocked(t)
	r.referLocked(t, recordKey{string(m.ConversationID()), t.asker.id, t.worker.id})
	if t.as != "" {
		r.referLocked(t, recordKey{string(m.ConversationID()), t.asker.id, t.as})
	}
	r.askLocked(t, m, now)
	return noted{record: t, as: t.as, message: m, began: true}, nil
}

// key is that of records.of.
func (p party) key() any {
	if p.via != nil {
		return p.via
	}
	return p.id.Fold()
}

// askLocked notes that the asker has sent a message that expects a reply, for the first time or
// again.
func (r *records) askLocked(t *record, m *performatives.Message, now func() time.Time) {
	further := m.ID() != t.asked.ID()
	if further {
		t.copies = copies{}
	}
	t.copies.passed++
	r.setAskedLocked(t, m)
	r.scheduleLocked(t, t.deadline(m, further, now()))
	r.referLocked(t, recordKey{name: string(m.ID()), asker: t.asker.id})
	if with := m.ReplyWith(); with != "" && with != string(m.ID()) {
		r.referLocked(t, recordKey{name: with, asker: t.asker.id})
	}
}

func (r *records) setAskedLocked(t *record, m *performatives.Message) {
	before := t.weight()
	t.asked = m
	for side := range t.sides() {
		side.via.addWeight(t.weight() - before)
	}
}

// addWeight adds to the weight of the records of a session. It is guarded by records.mu.
func (l *link) addWeight(w int) {
	if l != nil {
		l.weight += w
	}
}

// roomLocked reports whether both sessions of a passage have room for a request, in t or in a new
// record.
func (r *records) roomLocked(t *record, p passage) bool {
	released := 0
	if t != nil && t.asked != t.first {
		released = t.asked.Weight() // the message takes its place
	}
	for _, side := range [...]party{p.from, p.to} {
		if side.via != nil && !r.fitsLocked(side.via, p.message, t == nil, released, 0) {
			return false
		}
	}
	return true
}

// fitsLocked reports whether a session has room for a request. own is how many of its conversations
// are the request's own.
func (r *records) fitsLocked(l *link, m *performatives.Message, opens bool, released, own int) bool {
	if opens && len(r.of[l])+l.load.Conversations()-own >= l.limits.open {
		return false
	}
	others := l.weight + l.load.Weight() - released
	return m.Weight() == 0 || others <= 0 || others+m.Weight() <= l.limits.bytes
}

// admitLocked refuses a request that opens a conversation of an agent of this process if the
// session has too many.
func (r *records) admitLocked(p passage) error {
	m := p.message
	if !m.Performative().ExpectsReply() || m.InReplyTo() != "" || m.Performative() == performatives.ActCancel {
		return nil
	}
	side, own := p.from, 0
	if side.via == nil {
		side, own = p.to, 1
	}
	if side.via != nil && !r.fitsLocked(side.via, m, true, 0, own) {
		return refusedCopy(m, performatives.CodeBusy, textTooMany)
	}
	return nil
}

// withdrawn adds to the record the id of a CANCEL sent by the node in the asker's name. The receipt
// for it is not delivered to the asker.
func (r *records) withdrawn(t *record, cancel performatives.MessageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.gone {
		r.referLocked(t, recordKey{name: string(cancel), asker: t.asker.id})
	}
}

// takeBack undoes the effect of a message on its record, because the message could not be passed
// on. It reports false if the conversation was ended in the meantime, and its parties were told of
// the end.
func (r *records) takeBack(n noted) bool {
	t := n.record
	if t == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case t.tombstone:
		return false
	case n.began:
		r.removeLocked(t)
	case n.ended:
		r.reopenLocked(t)
	case t.gone:
		return true
	}
	if t.latest == n.message { // else later messages count on it
		t.progress, t.latest = n.progress, nil
		t.ids = slices.DeleteFunc(t.ids, func(id performatives.MessageID) bool { return id == n.message.ID() })
	}
	if n.asks {
		r.setAskedLocked(t, n.asked)
		t.copies = n.copies
		r.scheduleLocked(t, n.due)
	}
	return true
}

// reopenLocked puts a record back whose last message was not passed on. If a session has ended in
// between, the end of the record is told.
func (r *records) reopenLocked(t *record) {
	t.gone = false
	for _, k := range t.keys {
		r.index[k] = t
	}
	r.listLocked(t)
	r.scheduleLocked(t, t.due)
	if t.asker.lost() || t.worker.lost() {
		r.finishLocked([]*record{t}, disconnected)
	}
}

// busy reports whether an agent behind a session has an open record.
func (r *records) busy(a party) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.of[a.key()] {
		if t.asker == a || t.worker == a {
			return true
		}
	}
	return false
}

// open returns how many records are open.
func (r *records) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := make(map[*record]struct{})
	for _, of := range r.of {
		maps.Copy(open, of)
	}
	return len(open)
}
