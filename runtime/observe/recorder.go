package observe

import (
	"container/list"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Counts says how much a [Recorder] has kept and lost.
type Counts struct {
	Conversations int    `json:"conversations"`           // those that are kept
	Bytes         int    `json:"bytes"`                   // the estimated memory of what is kept
	Lost          uint64 `json:"events_lost"`             // events that found the queue full
	Forgotten     uint64 `json:"conversations_forgotten"` // conversations that the bounds pushed out
}

// Recorder keeps the last conversations of a node. Its owner must call Close.
type Recorder struct {
	options Options
	mask    Mask
	live    func() []codons.Info
	events  *actors.Subscription
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	byID   map[performatives.ConversationID]*list.Element
	recent *list.List // of *entry; the one with the latest event in front
	counts Counts
}

// entry is a conversation that is kept.
type entry struct {
	Conversation
	bytes int
}

// New records the events of the node that are published from now on. The error names the option that is wrong.
func New(node *runtime.Node, o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		options: o, mask: NewMask(o.Mask), live: node.Conversations, done: make(chan struct{}),
		byID: map[performatives.ConversationID]*list.Element{}, recent: list.New(),
	}
	r.events = node.Events().Subscribe(actors.SubscribeOptions{Capacity: o.Queue, Kinds: []actors.Kind{
		actors.KindMessageSent, actors.KindMessageReceived, actors.KindMessageRefused, actors.KindMessageDeadLettered, codons.KindTransition,
	}})
	go r.run()
	return r, nil
}

// Close ends the recording. It returns when the events that are queued are recorded. Closing again does nothing.
func (r *Recorder) Close() {
	r.events.Close()
	<-r.done
}

// Counts returns what is kept and what was lost.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Conversations, c.Lost = r.recent.Len(), r.events.Lost()
	return c
}

func (r *Recorder) run() {
	defer close(r.done)
	for record := range r.events.C {
		r.record(record.Event)
	}
}

func (r *Recorder) record(ev actors.Event) {
	switch ev := ev.(type) {
	case actors.MessageSent:
		r.message(ev, ev.Message, func(m *Message) { m.Sent++ })
	case actors.MessageReceived:
		r.message(ev, ev.Message, func(m *Message) { m.Received++ })
	case actors.MessageRefused:
		r.message(ev, ev.Message, func(m *Message) {
			if ev.Refusal != nil {
				m.Refused = ev.Refusal.Code
			}
		})
	case actors.DeadLetter:
		if m, ok := ev.Message.(*performatives.Message); ok {
			r.message(ev, m, func(m *Message) { m.Refused = ev.Code })
		}
	case codons.Transition:
		r.transition(ev)
	}
}

func (r *Recorder) message(ev actors.Event, m *performatives.Message, note func(*Message)) {
	if m == nil {
		return
	}
	r.mu.Lock()
	known := r.noteLocked(ev, m, note)
	r.mu.Unlock()
	if known {
		return
	}
	seen := Message{
		ID: m.ID(), Time: ev.EventTime(), Performative: m.Performative().String(), MessageType: m.MessageType(), Sender: m.Sender(),
		Receiver: m.Receiver(), InReplyTo: m.InReplyTo(), Priority: m.Priority().String(),
	}
	seen.Payload, seen.LeftOut = r.payload(m) // runs code of the payload's type: no lock is held
	note(&seen)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entryLocked(ev, m.ConversationID())
	if e.Protocol == "" {
		e.Protocol = m.Protocol()
	}
	e.Messages = append(e.Messages, seen)
	e.Count++
	r.growLocked(e, seen.bytes())
	if len(e.Messages) > r.options.Messages {
		r.forgetMessageLocked(e)
	}
	r.boundLocked()
}

// noteLocked notes that a message is seen again. It is false when the message is new.
func (r *Recorder) noteLocked(ev actors.Event, m *performatives.Message, note func(*Message)) bool {
	if r.byID[m.ConversationID()] == nil {
		return false
	}
	e := r.entryLocked(ev, m.ConversationID())
	for i := range slices.Backward(e.Messages) {
		if e.Messages[i].ID == m.ID() {
			note(&e.Messages[i])
			return true
		}
	}
	return false
}

func (r *Recorder) transition(t codons.Transition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entryLocked(t, t.Conversation)
	e.Protocol = t.Protocol
	if t.Parent != "" {
		e.Parent = t.Parent
	}
	sides := len(e.Sides)
	s := e.side(t.Agent, t.Peer, t.Role.String())
	r.growLocked(e, (len(e.Sides)-sides)*sideBytes)
	if s.State != string(t.To) {
		s.State, s.Since = string(t.To), t.Time
	}
	s.Ended = t.Ended
	r.boundLocked()
}

// entryLocked returns the entry of a conversation, which it adds if there is none, and makes it the most recent one.
func (r *Recorder) entryLocked(ev actors.Event, id performatives.ConversationID) *entry {
	at := r.byID[id]
	if at == nil {
		at = r.recent.PushFront(&entry{Conversation: Conversation{ID: id, Began: ev.EventTime()}})
		r.byID[id] = at
		r.growLocked(at.Value.(*entry), conversationBytes)
	}
	r.recent.MoveToFront(at)
	e := at.Value.(*entry)
	e.Updated = ev.EventTime()
	return e
}

func (r *Recorder) growLocked(e *entry, bytes int) {
	e.bytes += bytes
	r.counts.Bytes += bytes
}

// boundLocked forgets the conversations without an event for the longest time, and then the oldest messages of the last one.
func (r *Recorder) boundLocked() {
	for r.recent.Len() > r.options.Conversations || r.counts.Bytes > r.options.Bytes && r.recent.Len() > 1 {
		e := r.recent.Remove(r.recent.Back()).(*entry)
		delete(r.byID, e.ID)
		r.counts.Bytes -= e.bytes
		r.counts.Forgotten++
	}
	e := r.recent.Front().Value.(*entry)
	for r.counts.Bytes > r.options.Bytes && len(e.Messages) > 0 {
		r.forgetMessageLocked(e)
	}
}

func (r *Recorder) forgetMessageLocked(e *entry) {
	r.growLocked(e, -e.Messages[0].bytes())
	e.Messages[0] = Message{} // its payload can be collected before the list grows again
	e.Messages = e.Messages[1:]
	e.Forgotten++
}

// payload returns the masked JSON of m's payload, or why there is none. A payload's own MarshalJSON may panic.
func (r *Recorder) payload(m *performatives.Message) (text json.RawMessage, leftOut string) {
	defer func() {
		if p := recover(); p != nil {
			text, leftOut = nil, "its JSON cannot be made: the payload's code panicked"
		}
	}()
	if m.Payload() == nil {
		return nil, ""
	}
	text, err := json.Marshal(m.Payload())
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
