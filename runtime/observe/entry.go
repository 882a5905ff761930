package observe

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// entry is a recorded conversation. Its first ends and messages are in the entry: to forget a
// conversation, which has not been touched for long, its memory must come back into the caches of
// the processor, and one place takes less time than three.
type entry struct {
	newer, older *entry // in entries

	id        performatives.ConversationID
	parent    performatives.ConversationID // of an ended side, or of the first message once learnParentLocked was called
	protocol  string
	began     time.Time
	updated   time.Time
	ends      []end
	messages  []kept
	forgotten int
	bytes     int
	changed   uint64 // the number of its last change

	firstEnds     [2]end
	firstMessages [4]kept
}

// end is the end of a side.
type end struct {
	agent, peer  performatives.AgentID
	state        machine.State
	path         []machine.State // that of the event, which many share
	began, ended instant
	role         machine.Role
}

// instant is a time between the years 1678 and 2262 in nanoseconds since 1970 began, or noInstant:
// it takes a third of the memory of a [time.Time].
type instant int64

// noInstant is the zero time.
const noInstant instant = math.MinInt64

func instantOf(t time.Time) instant {
	if t.IsZero() {
		return noInstant
	}
	return instant(t.UnixNano())
}

// time returns the time in the local zone, which events have.
func (i instant) time() time.Time {
	if i == noInstant {
		return time.Time{}
	}
	return time.Unix(0, int64(i))
}

// view returns the [Side] of the end, with its path if it is wanted.
func (e *end) view(path bool) Side {
	s := Side{Agent: e.agent, Peer: e.peer, Role: e.role.String(), State: string(e.state), Ended: true, Began: e.began.time(), Since: e.ended.time()}
	if path {
		s.Path = namesOf(e.path)
		if n := len(s.Path); n == 0 || s.Path[n-1] != s.State { // a side that fails takes no step to its end
			s.Path = append(s.Path[max(0, n+1-MaxPath):], s.State)
		}
	}
	return s
}

// endOf returns the record of the end of a side, which it adds if there is none.
func (e *entry) endOf(side *lifecycle.Subject) *end {
	for i := range e.ends {
		if s := &e.ends[i]; s.role == side.Role && s.agent == side.Agent && s.peer == side.Peer {
			return s
		}
	}
	e.ends = append(e.ends, end{agent: side.Agent, peer: side.Peer, role: side.Role})
	return &e.ends[len(e.ends)-1]
}

// kept is a recorded message. The [Message] of it is made when it is read, not when it is recorded.
type kept struct {
	source         *performatives.Message // nil if the payload is left out
	rare           *rareFacts             // nil for most messages
	at             instant                // when the node first saw it
	changed        uint64                 // the number of its last change
	sent, received int32
	bytes          int
}

// rareFacts has what most messages do not have. It is never changed: readers share it.
type rareFacts struct {
	facts   *Message           // of a message whose payload is left out; nil for any other
	refused performatives.Code // empty unless it was refused
}

// refuse notes the code of a refusal.
func (k *kept) refuse(code performatives.Code, change uint64) {
	r := rareFacts{refused: code}
	if k.rare != nil {
		r.facts = k.rare.facts
	}
	k.rare, k.changed = &r, change
}

// view returns the [Message] of a recorded one, without its payload.
func (k *kept) view() Message {
	var m Message
	if k.source == nil {
		m = *k.rare.facts
	} else {
		m = factsOf(k.at.time(), k.source)
	}
	m.Sent, m.Received = int(k.sent), int(k.received)
	if k.rare != nil {
		m.Refused = k.rare.refused
	}
	return m
}

// is reports whether it is the message m, or a repeated one with its id.
func (k *kept) is(m *performatives.Message) bool {
	if k.source == nil {
		return k.rare.facts.ID == m.ID()
	}
	return k.source == m || k.source.ID() == m.ID()
}

// The estimated memory in bytes of a conversation, of a side, of a state of its path, of the record
// of a message without the message, and of the facts of a message whose payload is left out.
const (
	conversationBytes = 600
	sideBytes         = 96
	stateBytes        = 16
	messageBytes      = 48
	factsBytes        = 256
)

func factsOf(at time.Time, m *performatives.Message) Message {
	return Message{
		ID: m.ID(), Time: at, Performative: m.Performative().String(), MessageType: m.MessageType(), Sender: m.Sender(),
		Receiver: m.Receiver(), InReplyTo: m.InReplyTo(), Priority: m.Priority().String(),
	}
}

// Show returns a message as the recorder shows it, with its masked payload, whether it is recorded
// or not.
func (r *Recorder) Show(at time.Time, m *performatives.Message) Message {
	shown := r.message(&kept{source: m})
	shown.Time = at
	return shown
}

// Masked returns the masked JSON of a value, which is bounded as a payload is; nil when there is
// none.
func (r *Recorder) Masked(v any) json.RawMessage {
	text, _ := r.payload(v)
	return text
}

// keep returns the record of a message. The record does not keep a message in memory that is much
// larger than the largest payload that is shown: it has the facts of that message instead.
func (r *Recorder) keep(at time.Time, m *performatives.Message) kept {
	k := kept{at: instantOf(at)}
	const perByte, envelope = 4, 8 << 10 // a value in memory has a multiple of the bytes of its JSON
	if size := m.Size(); size <= perByte*r.options.PayloadBytes+envelope {
		k.source, k.bytes = m, messageBytes+size
	} else {
		facts := factsOf(at, m)
		k.rare = &rareFacts{facts: &facts}
		k.bytes = messageBytes + factsBytes + len(facts.ID) + len(facts.MessageType) + len(facts.Sender) + len(facts.Receiver) + len(facts.InReplyTo)
		facts.LeftOut = fmt.Sprintf("it has about %d bytes, and the recorder keeps %d", size, r.options.PayloadBytes)
	}
	return k
}

// entryLocked returns the entry of a conversation, which it adds if there is none, and makes it the
// newest one.
func (r *Recorder) entryLocked(at time.Time, id performatives.ConversationID) *entry {
	e := r.recent.newest
	if e == nil || e.id != id {
		if e = r.recent.by[id]; e != nil {
			r.recent.touch(e)
		} else {
			e = r.newEntryLocked(at, id)
		}
	}
	r.mark.Seq++
	e.updated, e.changed = at, r.mark.Seq
	return e
}

func (r *Recorder) newEntryLocked(at time.Time, id performatives.ConversationID) *entry {
	e := r.free
	if r.free = nil; e == nil {
		e = new(entry)
	}
	e.id, e.began, e.ends, e.messages = id, at, e.firstEnds[:0], e.firstMessages[:0]
	r.recent.add(e)
	r.growLocked(e, conversationBytes)
	return e
}

func (r *Recorder) growLocked(e *entry, bytes int) {
	e.bytes += bytes
	r.counts.Bytes += bytes
}

// boundLocked forgets the conversations without an event for the longest time, and then the oldest
// messages of the last one.
func (r *Recorder) boundLocked() {
	for len(r.recent.by) > r.options.Conversations || r.counts.Bytes > r.options.Bytes && len(r.recent.by) > 1 {
		r.forgetLocked(r.recent.oldest)
	}
	for e := r.recent.newest; r.counts.Bytes > r.options.Bytes && len(e.messages) > 0; {
		r.forgetMessageLocked(e)
	}
}

// forgetLocked forgets a conversation. The memory of the entry is used again.
func (r *Recorder) forgetLocked(e *entry) {
	r.recent.remove(e)
	r.counts.Bytes -= e.bytes
	r.counts.Forgotten++
	*e = entry{}
	r.free = e
}

// add adds a message, and returns its record.
func (e *entry) add(k kept) *kept {
	before := e.messages
	e.messages = append(e.messages, k)
	if len(before) == cap(before) {
		clear(before) // the memory that is not used any more, which may be that of the entry, keeps no payload alive
	}
	return &e.messages[len(before)]
}

// learnParentLocked returns the conversation in whose work e was begun; empty without one. It is
// known from the first message, also when the events of the ends of sides were lost.
func (e *entry) learnParentLocked() performatives.ConversationID {
	if len(e.messages) > 0 && e.messages[0].source != nil {
		e.learnParentOfLocked(e.messages[0].source)
	}
	return e.parent
}

// learnParentOfLocked takes the parent from a message, if that is the first of the conversation:
// the one that opens it.
func (e *entry) learnParentOfLocked(m *performatives.Message) {
	if e.parent == "" && e.forgotten == 0 && e.messages[0].is(m) {
		e.parent = codons.ParentOf(m)
	}
}

func (r *Recorder) forgetMessageLocked(e *entry) {
	e.learnParentLocked()
	r.growLocked(e, -e.messages[0].bytes)
	e.messages[0] = kept{} // its payload can be collected before the list grows again
	e.messages = e.messages[1:]
	e.forgotten++
}

// message returns a message with its masked payload. It runs code of the payload's type: no lock is
// held.
func (r *Recorder) message(k *kept) Message {
	m := k.view()
	if k.source != nil {
		m.Payload, m.LeftOut = r.payload(k.source.Payload())
	}
	return m
}

// payload returns the masked JSON of a payload, or why there is none. A payload's own MarshalJSON
// may panic.
func (r *Recorder) payload(v any) (text json.RawMessage, leftOut string) {
	defer func() {
		if p := recover(); p != nil {
			text, leftOut = nil, "its JSON cannot be made: the payload's code panicked"
		}
	}()
	if v == nil {
		return nil, ""
	}
	text, err := json.Marshal(v)
	if err == nil {
		text, err = r.mask.JSON(text)
	}
	switch {
	case err != nil:
		return nil, "its JSON cannot be made" // the text of the error may quote the payload
	case len(text) > r.options.PayloadBytes:
		return nil, fmt.Sprintf("it has %d bytes, and the recorder keeps %d", len(text), r.options.PayloadBytes)
	}
	return text, ""
}

// entries has the recorded conversations by their ids, and in the order of their latest events. The
// entries themselves are the links of the list: to forget the oldest one and to add another takes
// no memory.
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
