package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
)

// Trace has the recorded messages of one trace (rag, Trace Management; addenda §3b): those of the
// conversation after which its trace ids are named, and of the conversations that were begun in the
// work of that one. Each conversation that was not begun in the work of another has a trace, in any
// dialect.
type Trace struct {
	ID       performatives.ConversationID `json:"trace"`
	Messages []TracedMessage              `json:"messages"` // of its conversations, in the order in which they were first seen
}

// TracedMessage is a message of a [Trace], without its payload.
type TracedMessage struct {
	Message
	TraceID      string                       `json:"trace_id,omitempty"` // empty for a message that has none
	Conversation performatives.ConversationID `json:"conversation_id"`
	Parent       performatives.MessageID      `json:"parent,omitempty"`   // the message that it answers, or that had its sender begin the conversation; empty if unknown
	Children     []performatives.MessageID    `json:"children,omitempty"` // those whose parent it is
}

// Trace returns the trace to which a trace id, or the id of a conversation, belongs. It is false
// when nothing of it is recorded. The caller owns the result.
func (r *Recorder) Trace(id string) (Trace, bool) {
	t := Trace{ID: rag.Conversation(id), Messages: []TracedMessage{}}
	live := r.node.all()
	defer r.lock().Unlock()
	for _, i := range live { // the end of a side tells its parent, too
		if e := r.recent.by[i.ID]; e != nil && i.Parent != "" {
			e.parent = i.Parent
		}
	}
	for e := r.recent.newest; e != nil; e = e.older {
		e.learnParentLocked()
	}
	if e := r.recent.by[performatives.ConversationID(id)]; e != nil { // one begun in the work of another belongs to that
		for seen := 0; e.parent != "" && r.recent.by[e.parent] != nil && seen < len(r.recent.by); seen++ {
			e = r.recent.by[e.parent]
		}
		t.ID = rag.Conversation(string(e.id))
	}
	all := map[performatives.ConversationID]*entry{}
	for found := true; found; {
		found = false
		for e := r.recent.newest; e != nil; e = e.older {
			if all[e.id] == nil && (rag.Conversation(string(e.id)) == t.ID || e.parent == t.ID || all[e.parent] != nil) {
				all[e.id], found = e, true
			}
		}
	}
	for _, e := range all {
		for i := range e.messages {
			t.Messages = append(t.Messages, e.traced(&e.messages[i], all[e.parent]))
		}
	}
	t.Order()
	return t, len(t.Messages) > 0
}

// traced returns a message of the conversation. above is the conversation in whose work it was
// begun; nil for none.
func (e *entry) traced(k *kept, above *entry) TracedMessage {
	m := TracedMessage{Message: k.view(), Conversation: e.id}
	if k.source != nil {
		m.TraceID = rag.TraceID(k.source)
	}
	if m.TraceID == "" && rag.Conversation(string(e.id)) != e.id {
		m.TraceID = string(e.id)
	}
	if m.InReplyTo != "" {
		m.Parent = e.named(m.InReplyTo)
	} else if above != nil {
		m.Parent = above.causes(m.Sender, m.Time)
	}
	return m
}

// named returns the message with an id or a reply_with.
func (e *entry) named(ref string) performatives.MessageID {
	for i := range e.messages {
		k := &e.messages[i]
		if id := k.view().ID; string(id) == ref || k.source != nil && k.source.ReplyWith() == ref {
			return id
		}
	}
	return ""
}

// causes returns the last message to an agent that came before the time.
func (e *entry) causes(to performatives.AgentID, at time.Time) (id performatives.MessageID) {
	for i := range e.messages {
		if before := e.messages[i].view(); before.Receiver.Is(to) && !before.Time.After(at) {
			id = before.ID
		}
	}
	return id
}

// Order puts the messages into their order, each once, and lists the children of each. Those of
// several nodes may be together.
func (t *Trace) Order() {
	slices.SortStableFunc(t.Messages, func(a, b TracedMessage) int { return a.Time.Compare(b.Time) })
	at := make(map[performatives.MessageID]int, len(t.Messages))
	once := t.Messages[:0]
	for _, m := range t.Messages {
		i, seen := at[m.ID]
		if !seen {
			m.Children = nil
			at[m.ID] = len(once)
			once = append(once, m)
			continue
		}
		known := &once[i]
		known.Add(m.Message)
		known.Parent, known.TraceID = cmp.Or(known.Parent, m.Parent), cmp.Or(known.TraceID, m.TraceID)
	}
	t.Messages = once
	for _, m := range once {
		if i, ok := at[m.Parent]; ok && m.Parent != "" {
			once[i].Children = append(once[i].Children, m.ID)
		}
	}
}
