package performatives

import (
	"encoding/json"
	"iter"
	"maps"
	"time"
)

// Envelope is what a message is made of. It is the argument of [New]; once made,
// the [Message] does not change, whatever happens to the Envelope.
type Envelope struct {
	ID             MessageID      // required
	Performative   Performative   // zero stands for the act of a built-in Payload
	Sender         AgentID        // required
	Receiver       AgentID        // empty = broadcast
	ConversationID ConversationID // empty = the message opens a conversation of its own, named after ID
	Protocol       string         // name of the codon; empty = whichever the act opens
	InReplyTo      string         // the ID or the ReplyWith of the message that this one answers
	ReplyWith      string         // what an answer should carry as InReplyTo
	ReplyBy        time.Time      // deadline of the answer; zero = none
	Language       string         // of the payload; empty = application/json
	Ontology       string         // vocabulary of the payload, such as [OntologyDebugRequest]
	Priority       Priority       // zero = Normal
	Timestamp      time.Time      // required: when the message was made
	Trace          string         // W3C traceparent; empty = not traced
	Budget         Content        // what the work may use, and in an answer, what it used; this package does not interpret it
	Metadata       Members        // members of the envelope that no field stands for
	Payload        any            // a payload type of this package, a registered one, or Raw
	Shape          any            // private to the dialect that decoded the message: how it was written
}

// Message is one act of communication between two agents. It is made by [New],
// by a dialect, or by [Message.Reply] and its kin, and is immutable: it travels
// by pointer through mailboxes, routers and conversations, is read by any
// goroutine without a lock, and is serialised only where it leaves the process.
// The zero Message is not valid.
type Message struct {
	e      Envelope
	weight int // see Weigh
}

// New makes a message of e, or says in a [*Refusal] which field is wrong and what
// was expected there. A payload with a method Validate() error is asked too; the
// text of its error may reach a peer. Of a [Raw] payload only the ends are looked
// at: whoever read it has parsed it, and [PayloadAs] validates what it decodes.
//
// What e refers to (Metadata, Payload) belongs to the message from then on and
// must not be changed.
func New(e Envelope) (*Message, error) {
	m := &Message{e: e} // the one allocation; the checks work on it in place
	if m.e.Performative == 0 {
		m.e.Performative = actOf(m.e.Payload)
	}
	if m.e.ConversationID == "" {
		m.e.ConversationID = ConversationID(m.e.ID)
	}
	if err := m.e.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// ID returns the identifier of this message.
func (m *Message) ID() MessageID { return m.e.ID }

// Performative returns the communicative act.
func (m *Message) Performative() Performative { return m.e.Performative }

// Sender returns who sent the message.
func (m *Message) Sender() AgentID { return m.e.Sender }

// Receiver returns whom the message is for; empty means everyone.
func (m *Message) Receiver() AgentID { return m.e.Receiver }

// ConversationID returns the conversation that the message belongs to. It is
// never empty: a message that opens a conversation of its own names it.
func (m *Message) ConversationID() ConversationID { return m.e.ConversationID }

// Protocol returns the name of the codon that the conversation follows, or
// nothing when the sender did not say.
func (m *Message) Protocol() string { return m.e.Protocol }

// InReplyTo returns the ID or the ReplyWith of the message that this one answers.
func (m *Message) InReplyTo() string { return m.e.InReplyTo }

// ReplyWith returns what an answer should carry as InReplyTo.
func (m *Message) ReplyWith() string { return m.e.ReplyWith }

// ReplyBy returns the deadline of the answer; zero means none.
func (m *Message) ReplyBy() time.Time { return m.e.ReplyBy }

// Language returns the language of the payload; empty means application/json.
func (m *Message) Language() string { return m.e.Language }

// Ontology returns the vocabulary of the payload.
func (m *Message) Ontology() string { return m.e.Ontology }

// Priority returns the band of the message.
func (m *Message) Priority() Priority { return m.e.Priority }

// Timestamp returns when the message was made.
func (m *Message) Timestamp() time.Time { return m.e.Timestamp }

// Trace returns the W3C traceparent, or nothing.
func (m *Message) Trace() string { return m.e.Trace }

// Budget returns what the work may use, or in an answer what it used, as it came.
func (m *Message) Budget() Content { return m.e.Budget }

// Payload returns the content: a payload type of this package, a registered
// type, or [Raw]; nil for an act without content. See [PayloadAs].
func (m *Message) Payload() any { return m.e.Payload }

// Shape returns what the dialect that decoded the message keeps about how it was
// written. It means nothing to anyone else.
func (m *Message) Shape() any { return m.e.Shape }

// Metadata returns one member of the envelope that no field stands for. The JSON
// is the message's and must not be changed.
func (m *Message) Metadata(name string) (json.RawMessage, bool) {
	v, ok := m.e.Metadata[name]
	return v, ok
}

// AllMetadata yields the members of the envelope that no field stands for, in
// no particular order. The JSON is the message's and must not be changed.
func (m *Message) AllMetadata() iter.Seq2[string, json.RawMessage] { return maps.All(m.e.Metadata) }

// Envelope returns a copy of what the message was made of, to make another of.
// Its Metadata is the caller's; its Payload is still the message's, and must be
// replaced as a whole rather than changed inside.
func (m *Message) Envelope() Envelope {
	e := m.e
	e.Metadata = e.Metadata.clone()
	return e
}

// Expired reports whether the deadline of the answer has passed at now.
func (m *Message) Expired(now time.Time) bool {
	return !m.e.ReplyBy.IsZero() && !now.Before(m.e.ReplyBy)
}

// Answers reports whether m answers other: whether it refers to other's ID or
// to its ReplyWith (addenda §2).
func (m *Message) Answers(other *Message) bool {
	ref := m.e.InReplyTo
	return ref != "" && (ref == string(other.e.ID) || ref == other.e.ReplyWith)
}
