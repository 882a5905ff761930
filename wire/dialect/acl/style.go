package acl

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Style is one of the two forms of the envelope. A session answers in the style of the
// last message: it stores [StyleOf] that message, or the Style of a [DecodeError], and
// encodes with [Codec.AppendAs].
type Style uint8

// The styles. The zero value is Spec.
const (
	// Spec is the envelope of acl §3: agents are objects with an agent_id.
	Spec Style = iota
	// IDE is the variant of IDE clients (addenda §3): agents are plain strings in
	// lower case, REQUEST, ACCEPT, REJECT and NOTIFY name acts, and the
	// conversation_id ties messages together. The sender is a plain string in this style
	// only.
	IDE
)

// StyleOf returns the style from which m was decoded. It is Spec for a message that was
// made here, or that another dialect decoded.
func StyleOf(m *performatives.Message) Style {
	if sh, ok := m.Shape().(*shape); ok {
		return sh.style
	}
	return Spec
}

// acts has the acts by their names on the wire, synonyms included.
var acts = exchange.WithActs(map[string]performatives.Performative{
	"ACCEPT": performatives.ActTaskAccept, "REJECT": performatives.ActTaskReject, "NOTIFY": performatives.ActInform,
})

// actOf returns the act of that name. REQUEST has two meanings: in the style IDE it is
// TASK_REQUEST, which acl §4.1 calls a refinement of it, and in the style Spec it is
// FIPA's request.
func actOf(name []byte, style Style) (performatives.Performative, bool) {
	act, ok := acts[string(name)]
	if act == performatives.ActRequest && style == IDE {
		act = performatives.ActTaskRequest
	}
	return act, ok
}

// namesOfIDE has the acts that IDE clients call something else.
var namesOfIDE = map[performatives.Performative]string{
	performatives.ActTaskRequest: "REQUEST", performatives.ActTaskAccept: "ACCEPT", performatives.ActTaskReject: "REJECT", performatives.ActInform: "NOTIFY",
}

// actName returns the name of an act in a style.
func actName(act performatives.Performative, style Style) string {
	if name, other := namesOfIDE[act]; other && style == IDE {
		return name
	}
	return act.String()
}

// shape is the value of [performatives.Message.Shape] for this dialect: the form of the
// message on the wire, as far as its fields do not determine it. An ordinary envelope
// needs none. A shape never leaves the node.
type shape struct {
	style         Style
	had           exchange.Set[int]      // the members of the envelope
	blanks        []blank                // the members without information, such as a null
	act           string                 // the synonym for the act; empty = its usual name
	anyone        bool                   // the receiver is "*"
	plainReceiver bool                   // the receiver is a string
	bare          bool                   // the payload is the parameters of a task (style IDE)
	derived       bool                   // the in_reply_to is the conversation_id (style IDE)
	of            *performatives.Message // the decoded message
	payload       []byte                 // the text of its payload; nil if the message has it as Raw
}

// blank is a member whose field is empty, with its JSON text.
type blank struct {
	member int
	text   string
}

// The shapes of messages that were not read in that style.
var (
	specShape = &shape{style: Spec, had: exchange.SetOf(memVersion, memID, memLanguage, memTimestamp, memPayload)}
	ideShape  = &shape{style: IDE, had: exchange.SetOf(memID, memConversation, memTimestamp, memPayload), plainReceiver: true}
)

// shapeFor returns the shape in which to write m for a peer of that style: the shape of
// m if it has the same style, else the usual one.
func shapeFor(m *performatives.Message, style Style) *shape {
	if sh, ok := m.Shape().(*shape); ok && sh.style == style {
		return sh
	}
	if style == IDE {
		return ideShape
	}
	return specShape
}

// Anycast implements [wire.Anycast].
func (sh *shape) Anycast() bool { return sh.anyone }

// ordinary reports whether the encoder writes the same form without the shape.
func (sh *shape) ordinary() bool {
	return sh.style == Spec && sh.had&^optional&^exchange.SetOf(memConversation) == specShape.had && len(sh.blanks) == 0 &&
		sh.act == "" && !sh.plainReceiver && sh.payload == nil
}
