package relay

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The reasons for the end of what a lost agent has asked or works on.
var (
	Disconnected = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected"}
	Replaced     = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected, and has come back"}
)

// abandoned is the reason that a worker gets when the asker no longer waits for the reply.
var abandoned = performatives.Failure{ErrorCode: performatives.CodeCanceled, ErrorText: "the asker no longer waits"}

// EndRecords ends the records of the link, which is closed. None begins afterwards.
func (l *Link) EndRecords(why performatives.Failure) {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	l.lost.Store(true)
	r.finishLocked(r.eachLocked(l, every), why)
}

// AgentStopped ends the records of an agent of this process that has stopped. The agent is told
// nothing: its next run may have begun.
func (r *Relay) AgentStopped(id performatives.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finishLocked(r.eachLocked(id.Fold(), every), performatives.Failure{ErrorCode: performatives.CodeStopped}, party{id: id})
}

// Abandon ends a request by [actors.Self.Ask] that has no reply: its worker behind a link gets
// CANCEL, and what the worker answers later is refused. The asker, which knows, is told nothing.
func (r *Relay) Abandon(m *performatives.Message) {
	why := abandoned
	if actors.DeadlinePassed(m.ReplyBy(), time.Now()) {
		why = timedOut
	}
	p := passage{message: m, from: party{id: m.Sender()}, to: r.partyOf(m.Receiver())}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.findLocked(p)
	switch {
	case t != nil && (t.tombstone || t.asked.ID() != m.ID() || t.asker.via != nil), p.to.lost():
		return
	case t == nil && (!p.to.behind(Node) || r.system.Conversing(m.Sender(), m.ConversationID(), m.Receiver())):
		return
	case t == nil:
		if t, _ = r.openLocked(p, time.Now); t == nil {
			return
		}
		for _, k := range t.keys {
			if k.worker != "" { // the asker may ask on in the conversation
				r.unreferLocked(t, k)
			}
		}
	}
	r.finishLocked([]*record{t}, why, t.asker)
}

// Moved notes that an agent is at another destination now: behind the link to, or nil for one that
// is not known yet. Its records there are those that were behind the link from, or nil for an agent
// of this process. They stay if to has ended, except for those of askers of other nodes.
func (r *Relay) Moved(id performatives.AgentID, from, to *Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ended := party{id, from}, to != nil && to.lost.Load()
	for _, t := range r.eachLocked(was.key(), func(t *record) bool { return t.worker.is(was) && (!ended || t.asker.behind(Node)) }) {
		r.relistLocked(t, &t.worker, to)
	}
}

// Follow notes that an agent has moved from one session to another, also to one of another node.
// The new session gets the answers to the agent's requests.
func (r *Relay) Follow(id performatives.AgentID, from, to *Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := party{id, from}
	for _, t := range r.eachLocked(from, func(t *record) bool { return t.asker.is(was) }) {
		r.relistLocked(t, &t.asker, to)
		if to.kind == Session {
			r.scheduleLocked(t, t.deadline(t.asked, false, time.Now)) // without the grace of an asker of another node
		}
	}
}

// LoseWorker ends the records of what an agent works on behind the link, which it has left. It gets
// no CANCEL where it is now.
func (l *Link) LoseWorker(id performatives.AgentID) {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := party{id, l}
	r.finishLocked(r.eachLocked(l, func(t *record) bool { return t.worker.is(lost) }), Replaced, lost)
}

// Workers returns the agents behind the link that work on open records, by folded id.
func (l *Link) Workers() (ids []performatives.AgentID) {
	for _, t := range l.each(func(t *record) bool { return t.worker.via == l }) {
		ids = append(ids, t.worker.id.Fold())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Close ends all records when the node has stopped.
func (r *Relay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.stopTimer != nil {
		r.stopTimer()
	}
	r.finishLocked(r.openRecordsLocked(), performatives.Failure{ErrorCode: performatives.CodeStopped})
}

// finishLocked tells both parties of records that they are over, except for those that have gone:
// the asker by FAILURE in the worker's name, the worker by CANCEL in the asker's.
func (r *Relay) finishLocked(ended []*record, why performatives.Failure, gone ...party) {
	slices.SortFunc(ended, func(a, b *record) int { // the lists have no order
		return cmp.Or(a.first.Timestamp().Compare(b.first.Timestamp()), cmp.Compare(a.first.ID(), b.first.ID()))
	})
	var last []ending
	for _, t := range ended {
		if !t.conversing { // else the conversation of the worker has lost its peer, or has its own deadline
			last = append(last, r.lastMessagesLocked(t, why, gone)...)
		}
		r.tombstoneLocked(t)
	}
	r.say(last, r.closed)
}

// ending is the last message of a record to one of its parties.
type ending struct {
	*performatives.Message
	to party
}

// lastMessagesLocked returns the messages that finishLocked sends about one record.
func (r *Relay) lastMessagesLocked(t *record, why performatives.Failure, gone []party) (all []ending) {
	if r.reachesLocked(t.asker, gone) {
		if m := t.asked.Refuse(t.voice(), r.system.Stamp(), why.ErrorCode, why.ErrorText); m != nil {
			all = append(all, ending{m, t.asker})
		}
	}
	if canceled := t.asked.Performative() == performatives.ActCancel && t.refused < t.passed; canceled || !r.reachesLocked(t.worker, gone) {
		return all
	}
	reason := cmp.Or(why.ErrorText, why.ErrorCode.Traits().Text)
	if m, err := t.first.Follow(r.system.Stamp(), performatives.Cancel{Reason: reason}); err == nil { // the error is an invalid stamp
		r.referLocked(t, recordKey{name: string(m.ID()), asker: t.asker.id}) // its receipt is not for the asker
		all = append(all, ending{m, t.worker})
	}
	return all
}

// reachesLocked reports whether a party can be told anything: its link is not lost, or it is an
// agent of this process that runs.
func (r *Relay) reachesLocked(p party, gone []party) bool {
	if p.lost() || slices.ContainsFunc(gone, p.is) {
		return false
	}
	if p.via != nil {
		return true
	}
	_, runs := r.system.Lookup(p.id)
	return runs
}

// tombstoneLocked ends a record and keeps what refuses a late reply, in place of the oldest
// tombstone if there are too many.
func (r *Relay) tombstoneLocked(t *record) {
	r.unlistLocked(t)
	if t.conversing {
		r.removeLocked(t)
		return
	}
	t.keys = slices.Clone(t.keys)
	clear(t.room.ids[:])
	clear(t.room.keys[:])
	for i, k := range t.keys { // which may be parts of messages
		if r.index[k] == t {
			delete(r.index, k)
			k = recordKey{strings.Clone(k.name), k.asker.Clone(), k.worker.Clone()}
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
}

// sendLast sends the last messages of ended records. At the stop of the node, it tries each once,
// before it returns.
func (r *Relay) sendLast(messages []ending, stopping bool) {
	switch {
	case len(messages) == 0:
	case stopping:
		r.deliverWithRetry(messages, true)
	default:
		r.system.Work(func() { r.deliverWithRetry(messages, false) })
	}
}

// busyRetryPeriod is the time for which deliverWithRetry retries while a mailbox is full.
const busyRetryPeriod = 10 * time.Second

// deliverWithRetry delivers messages made on behalf of an agent. It retries while a mailbox or an
// outbox is full, because the end of a session may produce more messages than one has room for.
func (r *Relay) deliverWithRetry(messages []ending, once bool) {
	for _, m := range messages {
		events.Publish(&r.system.Events, events.MessageSent{At: events.At{Time: time.Now()}, Message: m.Message})
	}
	until := time.Now().Add(busyRetryPeriod)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		again := !once && time.Now().Before(until)
		messages = slices.DeleteFunc(messages, func(m ending) bool {
			err := r.deliverEnding(m)
			if again && errors.Is(err, performatives.CodeBusy) {
				return false
			}
			if err != nil {
				r.system.DeadLetter(string(m.Receiver()), m.Message, wire.AsRefusal(err).Code)
			}
			return true
		})
		if len(messages) == 0 {
			return
		}
		<-time.After(wait)
	}
}

// deliverEnding delivers the last message of a record, past the records. It goes to where the
// directory has the party now, in the form of that link. A party that was only heard over a link to
// a node gets it over that link. One beyond an uplink gets it over the session of the record: the
// far node tells it when that is lost.
func (r *Relay) deliverEnding(m ending) error {
	a, d := r.find(m.Receiver())
	switch {
	case m.to.behind(Uplink), a == nil && m.to.behind(Node):
		return m.to.via.out.Send(m.Message)
	case d != nil:
		return d.Via().out.Send(d.Labelled(m.Message))
	}
	return r.system.Deliver(m.Receiver(), m.Message)
}
