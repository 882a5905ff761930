package relay

import (
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxTombstones is the largest number of ended records that are kept because a late reply may come.
const maxTombstones = 16_384

// passage is a message on its way between two agents that are not both of this process.
type passage struct {
	message  *performatives.Message
	from, to party
	as       performatives.AgentID // the namespace that the sender has named instead of the receiver; else empty
	named    bool                  // the asker is told the worker
	here     *actors.Registration  // of the party of this process, of the sender if both are; not needed with as; nil if it is not in the directory
}

// note finds or opens the record of a message, nil for none, and returns its state before. It notes
// a message before that is passed on, because its receiver may act on it at once. The error is a
// [*performatives.Refusal]: the session is over, too many requests are open, or the asker was told
// an end before. note calls now only for a deadline that the message does not have itself.
func (r *Relay) note(p passage, now func() time.Time) (t *record, before state, err error) {
	begins := r.begins(p)
	if begins || r.records.Load() > 0 { // else the message has no record and begins none, and the reads below need no lock
		r.mu.Lock()
		defer r.mu.Unlock()
		t = r.findLocked(p)
	}
	if p.from.lost() && !p.message.Undeliverable() || p.to.lost() { // a copy that did not leave by the link is refused by this node
		return nil, before, p.message.Refused(performatives.CodeStopped, "the connection to the agent has closed")
	}
	switch {
	case t == nil && (!begins || p.accountedFor()):
		m, own := p.message, 0
		if p.from.via == nil {
			own = 1
		}
		if !m.Performative().ExpectsReply() || m.InReplyTo() != "" || m.Performative() == performatives.ActCancel {
			return nil, before, nil
		}
		return nil, before, p.room(nil, own) // a conversation of an agent of this process takes room of the session
	case t == nil, t.tombstone && begins && t.roleOf(p.message) == machine.Initiator: // the keys of a tombstone become the new record's, but for that of a CANCEL by the node
		t, err = r.openLocked(p, now)
		return t, before, err
	case t.tombstone && t.roleOf(p.message) == machine.Responder:
		return nil, before, p.message.Refused(performatives.CodeConversationEnded, "the asker was told an end before")
	case t.tombstone:
		if t.knows(p.message.ID()) {
			r.removeLocked(t)
		}
		return nil, before, nil
	case t.latest == p.message: // it was noted at the namespace that it is for
		return nil, before, nil
	}
	before = t.state
	if p.message.Performative().ExpectsReply() && t.roleOf(p.message) == machine.Initiator {
		if err := p.room(t, 0); err != nil {
			return nil, before, err
		}
		r.askLocked(t, p.message, now)
	}
	if t.observe(p.message) {
		r.removeLocked(t)
		t.latest = p.message // for takeBack
	}
	return t, before, nil
}

// takeBack undoes the changes of a record by a message that was not passed on: a refused copy, or
// one that has not been sent. note has returned the state before. takeBack reports whether the
// record was ended meanwhile, and its parties were told of the end.
func (r *Relay) takeBack(t *record, before state, m *performatives.Message, why performatives.Code) (told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case t.tombstone:
		return true
	case t.asked == m && (before.asked == nil || before.asked.ID() == m.ID()):
		if t.copyRefused(why) { // else another copy has arrived
			r.removeLocked(t)
		}
	case t.gone && t.asker.lost() && t.roleOf(m) == machine.Responder: // its sender finds the asker's next session, or is refused
	case t.latest == m, t.asked == m && !t.gone: // else it has ended, or later messages count on it
		if t.gone {
			r.restoreLocked(t)
		}
		r.setStateLocked(t, before)
		t.latest = nil
		t.ids = slices.DeleteFunc(t.ids, func(id performatives.MessageID) bool { return id == m.ID() })
		if t.asker.lost() || t.worker.lost() { // while it was not open
			r.finishLocked([]*record{t}, Disconnected)
			return true
		}
	}
	return false
}

// setStateLocked changes the state of an open record.
func (r *Relay) setStateLocked(t *record, next state) {
	before := t.weight()
	r.scheduleLocked(t, next.due)
	t.state = next
	for _, p := range t.sides() {
		p.via.count(0, t.weight()-before)
	}
}

func (p party) is(other party) bool { return p.via == other.via && p.id.Is(other.id) }

func (p party) behind(k Kind) bool { return p.via != nil && p.via.kind == k }

func (p party) lost() bool { return p.via != nil && p.via.lost.Load() }

// begins reports whether a message that belongs to no record begins one: it expects a reply or
// opens a conversation by its table, and no agent of this process has or opens a conversation for
// it.
func (r *Relay) begins(p passage) bool {
	m := p.message
	opens := m.Performative().ExpectsReply()
	if t, ok := r.tables[m.Protocol()]; ok {
		opens = opens || t.machine.Opens(m.Performative())
	}
	switch {
	case !opens, p.as != "", p.from.via != nil && p.to.via != nil:
		return opens
	case p.here == nil:
		return true
	case p.from.via == nil:
		return !p.here.Conversing(m.ConversationID(), p.to.id)
	}
	return !p.here.Converses(m)
}

// accountedFor reports whether a request needs no record: it is to an agent of another node, and a
// call of [actors.Self.Ask] is the memory of it from now on.
func (p passage) accountedFor() bool {
	return p.from.via == nil && p.as == "" && p.to.behind(Node) && p.here != nil && p.here.AccountFor(p.message)
}

// recordOf returns the record of a message, and whether it is open; nil without one. Only the
// record's names may be read.
func (r *Relay) recordOf(m *performatives.Message, from, to party) (t *record, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t = r.findLocked(passage{message: m, from: from, to: to})
	return t, t != nil && !t.tombstone
}

// voiced reports whether m comes from the worker of a record which the asker knows by another name.
func (r *Relay) voiced(m *performatives.Message) bool {
	t, _ := r.recordOf(m, party{id: m.Sender()}, party{id: m.Receiver()})
	return t != nil && t.as != "" && t.worker.id.Is(m.Sender())
}

// Continues reports whether a message of an agent behind the link belongs to a conversation of this
// process, or to an open record.
func (l *Link) Continues(m *performatives.Message, from performatives.AgentID) bool {
	if l.relay.system.Conversing(m.Receiver(), m.ConversationID(), from) {
		return true
	}
	_, open := l.relay.recordOf(m, party{from, l}, party{id: m.Receiver()})
	return open
}

// AskersOf returns the agents that wait in open records for an answer of a worker behind the link.
// The answer is to a message with that id.
func (l *Link) AskersOf(worker performatives.AgentID, id performatives.MessageID) (all []performatives.AgentID) {
	for _, t := range l.each(func(t *record) bool { return t.worker.id.Is(worker) && t.knows(id) }) {
		all = append(all, t.asker.id)
	}
	return all
}

// openLocked begins a record. It returns nil for a notice, which has none.
func (r *Relay) openLocked(p passage, now func() time.Time) (*record, error) {
	if err := p.room(nil, 0); err != nil {
		return nil, err
	}
	m := p.message
	t := &record{asker: p.from, worker: p.to, as: p.as, named: p.named, first: m, state: state{round: round{asked: m}}}
	t.ids, t.keys = t.room.ids[:0], t.room.keys[:0]
	t.conversing = p.as != "" && p.to.via == nil && r.system.Converses(p.to.id, m)
	name := m.Protocol()
	if name == "" {
		name = r.system.ProtocolOf(m)
	}
	if table, ok := r.tables[name]; ok {
		t.codon, t.progress = table.codon, table.begin
	}
	if t.observe(m) {
		return nil, nil //nolint:nilnil // it has no record
	}
	r.records.Add(1)
	r.listLocked(t)
	r.referLocked(t, recordKey{string(m.ConversationID()), t.asker.id, t.worker.id})
	if t.as != "" {
		r.aliased.Store(true)
		r.referLocked(t, recordKey{string(m.ConversationID()), t.asker.id, t.as})
	}
	r.askLocked(t, m, now)
	return t, nil
}

// key is that of Relay.of.
func (p party) key() any {
	if p.via != nil {
		return p.via
	}
	return p.id.Fold()
}

// askLocked notes that the asker has sent a message that expects a reply, for the first time or
// again.
func (r *Relay) askLocked(t *record, m *performatives.Message, now func() time.Time) {
	next, further := t.state, m.ID() != t.asked.ID()
	if further {
		next.round = round{}
	}
	next.asked, next.due = m, t.deadline(m, further, now)
	next.passed++
	r.setStateLocked(t, next)
	r.referLocked(t, recordKey{name: string(m.ID()), asker: t.asker.id})
	if with := m.ReplyWith(); with != "" && with != string(m.ID()) {
		r.referLocked(t, recordKey{name: with, asker: t.asker.id})
	}
}

// count adds to the number and to the weight of the records of a session. It is called with
// Relay.mu.
func (l *Link) count(records, weight int) {
	if l != nil {
		l.records.Add(int64(records))
		l.weight.Add(int64(weight))
	}
}

// room returns a refusal if a session of a passage has no room for a request, in t or in a
// new conversation. own is how many of the conversations of its agents are the request's own.
func (p passage) room(t *record, own int) error {
	released := 0
	if t != nil && t.asked != t.first {
		released = t.asked.Weight() // the message takes its place
	}
	for _, l := range [...]*Link{p.from.via, p.to.via} {
		if l == nil {
			continue
		}
		full := t == nil && int(l.records.Load())+l.load.Conversations()-own >= l.limits.Open
		others, more := int(l.weight.Load())+l.load.Weight()-released, p.message.Weight()
		if full || more != 0 && others > 0 && others+more > l.limits.Bytes {
			return p.message.Refused(performatives.CodeBusy, "too many conversations are open over this connection, or too long ones")
		}
	}
	return nil
}

// Busy reports whether an agent behind the link has an open record.
func (l *Link) Busy(id performatives.AgentID) bool {
	a := party{id, l}
	return len(l.each(func(t *record) bool { return t.asker == a || t.worker == a })) > 0
}

// Open returns how many records are open.
func (r *Relay) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.openRecordsLocked())
}

func (r *Relay) openRecordsLocked() (open []*record) {
	for _, of := range r.of {
		for _, e := range *of {
			if e.side == 0 { // each is in the list of its asker
				open = append(open, e.record)
			}
		}
	}
	return open
}
