package runtime

import (
	"cmp"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// talk is one open conversation of a [ledger].
type talk struct {
	local, peer performatives.AgentID
	inbound     bool                  // the peer began it
	as          performatives.AgentID // what the peer calls local: a namespace; empty: by its name
	first       *performatives.Message
	asked       *performatives.Message // the latest of who began it that expects an answer
	copies      copies                 // of asked
	due         time.Time              // when nobody waits any more; zero is never
	place       int                    // in the heap of the ledger, counted from 1; 0: it is not there
	refs        []string               // under which about has it
	next        *talk                  // of the same conversation id
	gone        bool
	told        bool // who began it is told in the other's stead how it ended
}

// copies counts the copies of one message that expects an answer.
type copies struct {
	passed  int  // how many were passed on
	refused int  // how many of these a runtime has refused
	heard   bool // the other side has said something since the first was passed on
}

// maxRefs is how many messages of one conversation are remembered, so that an answer
// finds it whose dialect has no conversation ids.
const maxRefs = 8

// askedLocked returns the conversation that the sender of e has begun and to which e
// belongs, or nil.
func (l *ledger) askedLocked(e entry) *talk {
	for t := l.talks[e.message.ConversationID()]; t != nil; t = t.next {
		if t.inbound == e.inbound && t.local.Is(e.local) && t.peer.Is(e.peer) {
			return t
		}
	}
	if t := l.about[e.message.InReplyTo()]; t != nil && t.inbound == e.inbound && t.peer.Is(e.peer) {
		return t
	}
	return nil
}

// answeredLocked returns the conversation that the receiver of e has begun and in which
// e answers, or nil. Who answers for a namespace has another name than who was asked.
func (l *ledger) answeredLocked(e entry) *talk {
	act := e.message.Performative()
	if act.ExpectsReply() && !act.IsReply() && act != performatives.ActPropose {
		return nil
	}
	for t := l.talks[e.message.ConversationID()]; t != nil; t = t.next {
		if t.inbound != e.inbound && t.local.Is(e.local) && t.peer.Is(e.peer) {
			return t
		}
	}
	if t := l.about[e.message.InReplyTo()]; t != nil && t.inbound != e.inbound && t.side(e.inbound).Is(e.receiver()) {
		return t
	}
	return nil
}

// knows reports whether ref is what t, which may be nil, is about.
func (t *talk) knows(ref string) bool { return t != nil && slices.Contains(t.refs, ref) }

// receiver is whom e is for.
func (e entry) receiver() performatives.AgentID {
	if e.inbound {
		return e.local
	}
	return e.peer
}

// side returns who of t gets what is inbound, or is not.
func (t *talk) side(inbound bool) performatives.AgentID {
	if inbound {
		return t.local
	}
	return t.peer
}

// roomLocked reports whether there is room for a question, in t or in a conversation that
// it begins. One that is longer than all the room has it when there is no other.
func (l *ledger) roomLocked(t *talk, m *performatives.Message) bool {
	others := l.weight
	switch {
	case t == nil && (l.n >= l.limits.open || l.crowdedLocked(m.ConversationID())):
		return false
	case t != nil && t.asked != t.first: // m takes its place
		others -= t.asked.Weight()
	}
	return m.Weight() == 0 || others == 0 || others+m.Weight() <= l.limits.bytes
}

func (l *ledger) openLocked(e entry, now time.Time) *talk {
	t := &talk{local: e.local, peer: e.peer, inbound: e.inbound, as: e.as, first: e.message, asked: e.message}
	l.addLocked(t)
	l.askLocked(t, e.message, now)
	return t
}

// weight is of what t keeps.
func (t *talk) weight() int {
	if t.first == t.asked {
		return t.asked.Weight()
	}
	return t.first.Weight() + t.asked.Weight()
}

func (l *ledger) addLocked(t *talk) {
	id := t.first.ConversationID()
	t.next, l.talks[id] = l.talks[id], t
	l.n++
	l.weight += t.weight()
	l.placeLocked(t)
}

// crowdedLocked reports whether enough conversations of that name are open.
func (l *ledger) crowdedLocked(id performatives.ConversationID) bool {
	n := 0
	for t := l.talks[id]; t != nil; t = t.next {
		n++
	}
	return n >= maxNamesakes
}

// askLocked notes that who began t asks something, for the first time or again. A further
// round has its own time; a repetition and a CANCEL have that of what they are about.
func (l *ledger) askLocked(t *talk, m *performatives.Message, now time.Time) {
	further := m.ID() != t.asked.ID() && m.Performative() != performatives.ActCancel
	if m.ID() != t.asked.ID() {
		t.copies = copies{}
	}
	t.copies.passed++
	l.latestLocked(t, m)
	switch {
	case !m.ReplyBy().IsZero():
		t.due = m.ReplyBy().Add(l.limits.grace).Add(t.extra(l.limits))
	case t.streams():
	case t.due.IsZero() || further:
		t.due = now.Add(l.limits.patience).Add(t.extra(l.limits))
	}
	l.placeLocked(t)
	l.told.asked(t.inbound, m)
	l.referLocked(t, string(m.ID()))
	if with := m.ReplyWith(); with != "" {
		l.referLocked(t, with)
	}
}

// extra is how much longer a request to the peer is kept than one of the peer's: the
// CANCEL that another session sends for the same request at its due time still belongs to
// it.
func (t *talk) extra(l ledgerLimits) time.Duration {
	if t.inbound {
		return 0
	}
	return l.grace
}

// latestLocked makes m what t waits for.
func (l *ledger) latestLocked(t *talk, m *performatives.Message) {
	l.weight -= t.weight()
	t.asked = m
	l.weight += t.weight()
}

func (l *ledger) referLocked(t *talk, ref string) {
	if l.about[ref] == t {
		return
	}
	if len(t.refs) == maxRefs {
		l.unreferLocked(t, t.refs[0])
		t.refs = append(t.refs[:0], t.refs[1:]...)
	}
	t.refs = append(t.refs, ref)
	l.about[ref] = t
}

func (l *ledger) unreferLocked(t *talk, ref string) {
	if l.about[ref] == t { // else a later message has taken the name over
		delete(l.about, ref)
	}
}

func (l *ledger) removeLocked(t *talk) {
	if t.gone {
		return
	}
	t.gone = true
	l.n--
	l.unplaceLocked(t)
	l.weight -= t.weight()
	for _, ref := range t.refs {
		l.unreferLocked(t, ref)
	}
	id := t.first.ConversationID()
	if l.talks[id] == t {
		if l.talks[id] = t.next; t.next == nil {
			delete(l.talks, id)
		}
		return
	}
	for p := l.talks[id]; p != nil; p = p.next {
		if p.next == t {
			p.next = t.next
			return
		}
	}
}

// voice is what the peer calls the local agent.
func (t *talk) voice() performatives.AgentID { return cmp.Or(t.as, t.local) }

// streams reports whether any number of INFORMs answer what t asks for.
func (t *talk) streams() bool {
	act := t.first.Performative()
	return act == performatives.ActSubscribe || act == performatives.ActRequestWhenever
}

// answeredBy notes m, of the side that answers, and reports whether it ends t.
func (t *talk) answeredBy(m *performatives.Message) bool {
	if m.Undeliverable() {
		return m.Answers(t.asked) && t.copyRefused(m.AsRefusal().Code)
	}
	t.copies.heard = true
	return t.closes(m)
}

// copyRefused notes that a runtime has refused one copy of what t asks, and reports whether
// that ends t: no copy can have arrived. A full mailbox is no answer to a CANCEL.
func (t *talk) copyRefused(code performatives.Code) bool {
	t.copies.refused++
	return !t.copies.heard && t.copies.refused >= t.copies.passed && !(code == performatives.CodeBusy && t.asked.Performative() == performatives.ActCancel)
}

// closes reports whether m, of the side that answers, is the last word of t.
func (t *talk) closes(m *performatives.Message) bool {
	switch m.Performative() { //nolint:exhaustive // any other act is the last word
	case performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate, performatives.ActPropose:
		return false
	case performatives.ActInform:
		return !t.streams() || t.asked.Performative() == performatives.ActCancel && m.Answers(t.asked)
	case performatives.ActInformResult:
		r, err := performatives.PayloadAs[performatives.InformResult](m)
		return err != nil || r.RequestForUser() == "" // which asks for a further round
	}
	return true
}
