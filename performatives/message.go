package performatives

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"sync"
	"time"
)

// Envelope has the fields of a message. It is the argument of [New]. A later change
// of the Envelope does not change the [Message]. [MessageJSON] has its JSON.
type Envelope struct {
	ID             MessageID      `json:"id"`                     // required
	Performative   Performative   `json:"performative"`           // zero stands for the act of a built-in Payload
	Priority       Priority       `json:"priority,omitempty"`     // zero = Normal
	Sender         AgentID        `json:"sender"`                 // required
	Receiver       AgentID        `json:"receiver,omitempty"`     // empty = broadcast
	ConversationID ConversationID `json:"conversation_id"`        // empty = the message opens a conversation of its own, named after ID
	Protocol       string         `json:"protocol,omitempty"`     // name of the codon; empty = the one that the act opens
	MessageType    string         `json:"message_type,omitempty"` // the application's own name on top of the act, such as REVIEW_REQUEST; empty = none; see [Message.MessageType]
	InReplyTo      string         `json:"in_reply_to,omitempty"`  // the ID or the ReplyWith of the message that this one answers
	ReplyWith      string         `json:"reply_with,omitempty"`   // the InReplyTo of an answer
	ReplyBy        time.Time      `json:"reply_by,omitzero"`      // deadline of the answer; zero = none
	Language       string         `json:"language,omitempty"`     // of the payload; empty = application/json
	Ontology       string         `json:"ontology,omitempty"`     // vocabulary of the payload, such as [OntologyDebugRequest]
	Timestamp      time.Time      `json:"timestamp"`              // required: when the message was made
	Trace          string         `json:"trace,omitempty"`        // W3C traceparent; empty = not traced
	Budget         Content        `json:"budget,omitzero"`        // the allowance of the work, and in an answer, the amount used; this package does not interpret it
	Principal      string         `json:"principal,omitempty"`    // the authenticated name of the peer from which the message entered the system; empty = none; see [Message.Principal]
	Activation     uint64         `json:"activation,omitempty"`   // the run of the sender, an agent that a cluster places; zero = it is not placed; see [Message.Activation]
	Answers        uint64         `json:"answers,omitempty"`      // the Activation of the message that this one answers
	Metadata       Members        `json:"metadata,omitempty"`     // members of the envelope without a field of their own
	Payload        any            `json:"-"`                      // a payload type of this package, a registered one, or Raw
	Shape          any            `json:"-"`                      // private to the dialect that decoded the message: the form it had on the wire
}

// Message is one act of communication between two agents. [New], a dialect, and [Message.Reply] and
// its variants make one. It is immutable, except by the methods for the link or session that has
// just read it: it travels by pointer through mailboxes, routers and conversations, any goroutine
// reads it without a lock, and it is serialised only where it leaves the process. The zero Message
// is not valid.
type Message struct {
	id             MessageID
	sender         AgentID
	receiver       AgentID
	conversationID ConversationID
	protocol       string
	inReplyTo      string
	replyWith      string
	ontology       string
	trace          string
	payload        any
	shape          any
	replyBy        time.Time
	timestamp      time.Time
	rare           *rare // nil: it has none of these; not changed where another message may have it, too
	late           int32 // when it arrived: milliseconds after the timestamp, or farLate; see Arrive
	performative   Performative
	priority       Priority
	forwards       uint8 // see Forwards
	marks          marks
}

// marks are the bits marksAuthentic, marksJSON, marksWeighed, marksToAll and marksParsed.
type marks uint8

const (
	marksAuthentic marks = 1 << iota // see Authentic
	marksJSON                        // the language is LanguageJSON; rare has any other
	marksWeighed                     // rare has a weight; without the bit, Weight does not read rare, which mailboxes would wait for
	marksToAll                       // see ToAll
	marksParsed                      // see Parsed
)

// rare has the fields that few messages set. A field in Message itself takes memory in every
// message.
type rare struct {
	messageType string
	language    string
	principal   string
	budget      Content
	metadata    Members
	activation  uint64
	answers     uint64
	arrived     int64 // Unix time in milliseconds, if Message.late is farLate
	weight      int32 // see Weigh
}

// farLate is the late of a message that arrived more than 24 days before or after its timestamp.
// Other messages are read without their rare fields, which mailboxes would wait for.
const farLate = math.MinInt32

// noRare is what a message without rare fields has. It is never changed.
var noRare rare

// rareFields returns the rare fields of m, to be read.
func (m *Message) rareFields() *rare {
	if m.rare == nil {
		return &noRare
	}
	return m.rare
}

// changeRare gives m, which no other goroutine has yet, rare fields of its own that differ by
// change.
func (m *Message) changeRare(change func(*rare)) {
	r := *m.rareFields()
	change(&r)
	m.rare = &r
}

// New makes a message of e. The error is a [*Refusal] that names the wrong field and
// the expected value. New calls the method Validate() error of a payload that has
// one; the text of its error may reach a peer. Of a [Raw] payload New checks only the
// first and the last character: the dialect that read it has parsed it, and
// [PayloadAs] validates the decoded value.
//
// The message takes over the Metadata and the Payload of e. The caller must not change
// them afterwards.
func New(e Envelope) (*Message, error) {
	parsed, is := e.Payload.(Parsed)
	if is {
		e.Payload = Raw(parsed)
	}
	if e.Performative == 0 {
		e.Performative = actOf(e.Payload)
	}
	if e.ConversationID == "" {
		e.ConversationID = ConversationID(e.ID)
	}
	if err := e.validate(); err != nil {
		return nil, err
	}
	m := &Message{
		id: e.ID, sender: e.Sender, receiver: e.Receiver, conversationID: e.ConversationID,
		protocol: e.Protocol, inReplyTo: e.InReplyTo, replyWith: e.ReplyWith, ontology: e.Ontology, trace: e.Trace,
		payload: e.Payload, shape: e.Shape, replyBy: e.ReplyBy, timestamp: e.Timestamp,
		performative: e.Performative, priority: e.Priority,
	}
	if e.Language == LanguageJSON {
		m.marks = marksJSON
	}
	if is {
		m.marks |= marksParsed
	}
	if e.MessageType != "" || e.Language != "" && e.Language != LanguageJSON || e.Principal != "" || e.Metadata != nil ||
		e.Activation != 0 || e.Answers != 0 || !e.Budget.IsZero() {
		m.rare = &rare{
			messageType: e.MessageType, language: e.Language, principal: e.Principal, budget: e.Budget,
			metadata: e.Metadata, activation: e.Activation, answers: e.Answers,
		}
	}
	return m, nil
}

// envelope returns the fields of m. They share the metadata of m.
func (m *Message) envelope() Envelope {
	r := m.rareFields()
	return Envelope{
		ID: m.id, Performative: m.performative, Priority: m.priority, Sender: m.sender, Receiver: m.receiver, ConversationID: m.conversationID,
		Protocol: m.protocol, MessageType: r.messageType, InReplyTo: m.inReplyTo, ReplyWith: m.replyWith, ReplyBy: m.replyBy, Language: m.Language(),
		Ontology: m.ontology, Timestamp: m.timestamp, Trace: m.trace, Budget: r.budget, Principal: r.principal, Activation: r.activation,
		Answers: r.answers, Metadata: r.metadata, Payload: m.payload, Shape: m.shape,
	}
}

// With returns a copy of m that differs from it by change: one copy and one
// validation. change may set any field of the envelope, and may add members to
// its Metadata and delete some, since that map is the copy's own. It must not
// change the JSON of a member or the inside of Payload, and must not keep the
// pointer. The error is that of [New]. The copy has the Arrived of m where that is
// not the timestamp of m, and a Weight if m has one.
//
// A reply gets a message type of its own like this:
//
//	reply, err = reply.With(func(e *performatives.Envelope) { e.MessageType = "REVIEW_DONE" })
func (m *Message) With(change func(e *Envelope)) (*Message, error) {
	e := envelopes.Get().(*Envelope) //nolint:forcetypeassert // there are no others
	*e = m.envelope()
	e.Metadata = maps.Clone(e.Metadata)
	change(e)
	out, err := New(*e)
	*e = Envelope{}
	envelopes.Put(e)
	if err != nil {
		return nil, err
	}
	if m.Weight() > 0 {
		out.Weigh()
	}
	if at := m.Arrived(); !at.Equal(m.timestamp) {
		out.Arrive(at)
	}
	return out, nil
}

// Readdressed returns a copy of m with another sender and receiver, which must be valid ids. It is
// for a node that knows an agent under another id than the agent's own connection does. The copy
// shares all else with m, is not validated again, and is not [Message.Authentic].
func (m *Message) Readdressed(sender, receiver AgentID) *Message {
	out := *m
	out.sender, out.receiver, out.marks = sender, receiver, m.marks&^marksAuthentic
	if m.receiver == "" {
		out.marks |= marksToAll
	}
	return &out
}

// ToAll reports whether m is for all agents, or is the copy of such a message that is for one of
// them.
func (m *Message) ToAll() bool { return m.receiver == "" || m.marks&marksToAll != 0 }

// Parsed reports whether the payload is a [Raw] that was made as [Parsed], so that a dialect may
// write it unread.
func (m *Message) Parsed() bool { return m.marks&marksParsed != 0 }

// envelopes has empty envelopes for With. Its argument change gets a pointer, for which an Envelope
// of the call itself would be allocated each time.
var envelopes = sync.Pool{New: func() any { return new(Envelope) }}

// ID returns the identifier of this message.
func (m *Message) ID() MessageID { return m.id }

// Performative returns the communicative act.
func (m *Message) Performative() Performative { return m.performative }

// Sender returns the agent that sent the message.
func (m *Message) Sender() AgentID { return m.sender }

// Receiver returns the agent that the message is for; empty means all agents.
func (m *Message) Receiver() AgentID { return m.receiver }

// ConversationID returns the conversation that the message belongs to. It is
// never empty: a message that opens a conversation of its own names it.
func (m *Message) ConversationID() ConversationID { return m.conversationID }

// Protocol returns the name of the codon that the conversation follows. It is empty
// when the sender named none.
func (m *Message) Protocol() string { return m.protocol }

// MessageType returns the application's own name for this kind of message, on top
// of the act: REVIEW_REQUEST is a REQUEST of the protocol code-review (addenda §8).
// Empty means that the message has none. It has 1 to [MaxMessageTypeLength] bytes,
// each an ASCII letter, a digit or one of _ - . : / and the first a letter or a
// digit. Case matters.
//
// A message with a message type may have any object as payload, or none, also where
// its act has a payload type of this package. Replies never inherit it.
func (m *Message) MessageType() string { return m.rareFields().messageType }

// InReplyTo returns the ID or the ReplyWith of the message that this one answers.
func (m *Message) InReplyTo() string { return m.inReplyTo }

// ReplyWith returns the value that an answer should have as InReplyTo; it may be empty.
func (m *Message) ReplyWith() string { return m.replyWith }

// ReplyBy returns the deadline of the answer; zero means none.
func (m *Message) ReplyBy() time.Time { return m.replyBy }

// Language returns the language of the payload; empty means application/json.
func (m *Message) Language() string {
	if m.marks&marksJSON != 0 {
		return LanguageJSON
	}
	return m.rareFields().language
}

// Ontology returns the vocabulary of the payload.
func (m *Message) Ontology() string { return m.ontology }

// Priority returns the band of the message.
func (m *Message) Priority() Priority { return m.priority }

// Timestamp returns when the message was made, by the clock of its sender.
func (m *Message) Timestamp() time.Time { return m.timestamp }

// Arrived returns when the message entered this node, by the node's own clock, to the millisecond:
// the time of [Message.Arrive], and the timestamp of a message that was made here. No dialect
// writes or reads it.
func (m *Message) Arrived() time.Time {
	if m.late == farLate {
		return time.UnixMilli(m.rare.arrived)
	}
	return m.timestamp.Add(time.Duration(m.late) * time.Millisecond)
}

// Arrive stores when m entered this node. Only the link or session that has just read m may call
// it, once, before it passes m on.
func (m *Message) Arrive(now time.Time) {
	late := now.Sub(m.timestamp).Milliseconds()
	if m.late = int32(late); int64(m.late) != late || m.late == farLate { //nolint:gosec // what does not fit is noticed
		m.late = farLate
		m.changeRare(func(r *rare) { r.arrived = now.UnixMilli() })
	}
}

// Trace returns the W3C traceparent; empty means that the message is not traced.
func (m *Message) Trace() string { return m.trace }

// Budget returns the allowance of the work, or in an answer the amount used, as received.
func (m *Message) Budget() Content { return m.rareFields().budget }

// Principal returns the identity of a peer, such as the subject of a token. The peer has proved it
// to the node at which the message entered the system. It is not a claim of the sender, which may
// be an agent below that name. It is empty for a message that was made here, and for one of a peer
// that has proved no identity. Rules and audit use it. No dialect writes or reads it.
func (m *Message) Principal() string { return m.rareFields().principal }

// Authenticate stores the principal of m. Only the session that has just read m may call it, before
// it passes m on.
func (m *Message) Authenticate(principal string) {
	if m.rareFields().principal != principal {
		m.changeRare(func(r *rare) { r.principal = principal })
	}
}

// Payload returns the content: a payload type of this package, a registered
// type, or [Raw]; nil for an act without content. See [PayloadAs].
func (m *Message) Payload() any { return m.payload }

// Shape returns the notes of the dialect that decoded the message about the form it
// had on the wire. Only that dialect can interpret them. It is nil for a message that
// was made in this process.
func (m *Message) Shape() any { return m.shape }

// Metadata returns one member of the envelope that has no field of its own, and whether
// it is there. The message owns the JSON: the caller must not change it.
func (m *Message) Metadata(name string) (json.RawMessage, bool) {
	v, ok := m.rareFields().metadata[name]
	return v, ok
}

// AllMetadata yields the members of the envelope without a field of their own, in
// no particular order. The message owns the JSON: the caller must not change it.
func (m *Message) AllMetadata() iter.Seq2[string, json.RawMessage] {
	return maps.All(m.rareFields().metadata)
}

// HasMetadata reports whether AllMetadata yields any.
func (m *Message) HasMetadata() bool { return len(m.rareFields().metadata) > 0 }

// Envelope returns a copy of the fields of the message. The caller owns its Metadata.
// The message still owns its Payload: the caller may replace it, and must not change
// it in place. [Message.With] makes a changed message.
func (m *Message) Envelope() Envelope {
	e := m.envelope()
	e.Metadata = e.Metadata.clone()
	return e
}

// Expired reports whether the deadline of the answer has passed at now.
func (m *Message) Expired(now time.Time) bool {
	return !m.replyBy.IsZero() && !now.Before(m.replyBy)
}

// Answers reports whether m answers other: whether it refers to other's ID or
// to its ReplyWith (addenda §2).
func (m *Message) Answers(other *Message) bool {
	ref := m.inReplyTo
	return ref != "" && (ref == string(other.id) || ref == other.replyWith)
}
