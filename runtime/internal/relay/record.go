package relay

import (
	"cmp"
	"container/list"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// record is a request between two agents that are not both of this process. No agent of this
// process has a conversation of it: it is relayed, or one of the two handles it in its Receive. The
// record ends with the conversation by the codon's table, else at its deadline.
type record struct {
	asker, worker party
	as            performatives.AgentID // the namespace that the asker has named instead of the worker; empty: none
	named         bool                  // the asker is told the worker
	conversing    bool                  // the worker has a conversation of it: the record is kept for the name as only

	codon *codons.Codon // nil without a table

	first *performatives.Message // that opened it; nil in a tombstone
	state
	latest *performatives.Message // the latest message noted
	cancel *performatives.Message // the latest CANCEL
	ids    []performatives.MessageID
	keys   []recordKey
	room   struct { // the first memory of these two: most need no more
		ids  [3]performatives.MessageID
		keys [2]recordKey
	}

	place  int    // in dueHeap, counted from 1; 0: it is not there
	listed [2]int // its places in the lists of the asker and the worker, counted from 1; 0: it is not there

	kept      *list.Element // of Relay.tombstones
	tombstone bool          // it was ended in the worker's name, or in the asker's: later messages of the worker are refused
	gone      bool          // it is not in the index
}

// party is one of the two agents of a record, at its present destination.
type party struct {
	id  performatives.AgentID
	via *Link // the session behind which the agent is; nil for an agent of this process
}

// state is what a message of a record changes. It is zero before the first message.
type state struct {
	round                      // the latest one
	progress *machine.Progress // nil without a table, and after a message that breaks it
}

// round is a message of the asker that expects a reply.
type round struct {
	asked   *performatives.Message // nil in a tombstone
	due     time.Time              // the deadline of the record; zero: none
	passed  int                    // how many copies were passed on
	refused int                    // how many of these a runtime has refused
	heard   bool                   // the worker has said something since the first was passed on
}

// recordKey finds a record by a name and its agents. The ids are folded.
type recordKey struct {
	name   string                // a conversation id; without a worker, the id or the reply_with of a message of the asker
	asker  performatives.AgentID // the agent that asks
	worker performatives.AgentID // the agent that is asked, or its namespace; empty: see name
}

// maxRecordIDs is the largest number of messages of one record whose repetition is recognized.
const maxRecordIDs = 64

// maxRecordKeys is the largest number of keys of one record: the latest ones are kept, and the
// first.
const maxRecordKeys = 18

// voice is the name by which the asker knows the worker.
func (t *record) voice() performatives.AgentID { return cmp.Or(t.as, t.worker.id) }

// names reports whether an id is that of the worker, or the name by which the asker knows it.
func (t *record) names(id performatives.AgentID) bool {
	return t.worker.id.Is(id) || t.as != "" && t.as.Is(id)
}

// metadataHandledBy is the member of the metadata of a reply that names the worker (addenda §9).
const metadataHandledBy = "handled_by"

// voiced returns a message of the worker under the name by which the asker knows it.
func (t *record) voiced(m *performatives.Message) *performatives.Message {
	out := m.Readdressed(t.as, m.Receiver())
	if !t.named {
		return out
	}
	named, err := out.With(func(e *performatives.Envelope) {
		if e.Metadata == nil {
			e.Metadata = performatives.Members{}
		}
		e.Metadata[metadataHandledBy], _ = json.Marshal(t.worker.id) // a text always has a JSON form
	})
	if err != nil {
		return out
	}
	return named
}

// roleOf returns the role of the sender of a message. An agent that asks itself has both: the act
// tells them apart.
func (t *record) roleOf(m *performatives.Message) machine.Role {
	own := t.asker.id.Is(t.worker.id)
	if answers := m.Performative().IsReply() || !m.Performative().ExpectsReply(); !m.Sender().Is(t.asker.id) || own && answers {
		return machine.Responder
	}
	return machine.Initiator
}

// sides yields the two parties, numbered from 0, and one of them if both have the same list.
func (t *record) sides() iter.Seq2[int, party] {
	return func(yield func(int, party) bool) {
		if yield(0, t.asker) && (t.asker.via != t.worker.via || t.asker.via == nil && !t.asker.id.Is(t.worker.id)) {
			yield(1, t.worker)
		}
	}
}

// knows reports whether a message of the asker with that id belongs to the record.
func (t *record) knows(id performatives.MessageID) bool {
	return slices.ContainsFunc(t.keys, func(k recordKey) bool { return k.worker == "" && k.name == string(id) })
}

// weight is that of the messages which the record keeps.
func (t *record) weight() int {
	if t.first == t.asked {
		return t.asked.Weight()
	}
	return t.first.Weight() + t.asked.Weight()
}

// observe notes a message of the conversation and reports whether it is the last one.
func (t *record) observe(m *performatives.Message) (ends bool) {
	role, again := t.roleOf(m), slices.Contains(t.ids, m.ID())
	t.latest = m
	if role == machine.Responder {
		if m.Undeliverable() {
			return m.Answers(t.asked) && t.copyRefused(m.AsRefusal().Code)
		}
		t.heard = true
	}
	if !again && len(t.ids) < maxRecordIDs {
		t.ids = append(t.ids, m.ID())
	}
	if m.Performative() == performatives.ActCancel {
		t.cancel = m
	}
	if t.progress != nil {
		t.progress = t.progress.After(machine.Utterance{From: role, Act: m.Performative(), Tag: t.codon.TagAfter(t.cancel, m.Header()), Again: again})
	}
	if t.progress == nil {
		return t.heard && t.cancelsAlone()
	}
	return t.progress.Ended()
}

// cancelsAlone reports whether the asker has said nothing but CANCEL: to a conversation that has
// ended before, whose last message comes again.
func (t *record) cancelsAlone() bool {
	return t.first.Performative() == performatives.ActCancel && t.asked.Performative() == performatives.ActCancel
}

// copyRefused notes that a runtime has refused one copy of the latest request, and reports whether
// that ends the record: no copy can have arrived. A full mailbox is no answer to a CANCEL.
func (t *record) copyRefused(code performatives.Code) bool {
	t.refused++
	return !t.heard && t.refused >= t.passed && !(code == performatives.CodeBusy && t.asked.Performative() == performatives.ActCancel)
}

// DefaultPatience is the time for a reply to a request without a ReplyBy, where no link says
// another.
const DefaultPatience = 2 * codons.DefaultDeadline

// patience returns that of the link which bounds the deadline: the asker's.
func (t *record) patience() time.Duration {
	if via := cmp.Or(t.asker.via, t.worker.via); via != nil {
		return via.limits.Patience
	}
	return DefaultPatience // the worker moves
}

// grace returns how long after the ReplyBy the record ends. An asker of this node is told at the
// ReplyBy. One of another node is told by that node, which has its own clock, and its CANCEL gives
// the worker the grace.
func (t *record) grace() time.Duration {
	if t.asker.via == nil || t.asker.behind(Session) {
		return 0
	}
	return cmp.Or(t.worker.via, t.asker.via).limits.Grace
}

// deadline returns the due time after a message of the asker that expects a reply. A further round
// has a time of its own; a repetition and a CANCEL have that of what they are about. A long-lived
// conversation has none.
func (t *record) deadline(m *performatives.Message, further bool, now func() time.Time) time.Time {
	switch {
	case !m.ReplyBy().IsZero():
		return m.ReplyBy().Add(t.grace())
	case t.codon != nil && t.codon.Table.Declarations.LongLived:
		return t.due
	case t.due.IsZero() || further && m.Performative() != performatives.ActCancel:
		return now().Add(t.patience())
	}
	return t.due
}

// uncertain reports whether nothing tells if the asker still waits: it has heard something, and no
// table says what it was.
func (t *record) uncertain() bool { return t.progress == nil && t.heard }
