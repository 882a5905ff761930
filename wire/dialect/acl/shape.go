package acl

import "github.com/ribosome-agents/ribosome/performatives"

// shape is the value of [performatives.Message.Shape] for this dialect: the form of the
// message on the wire, as far as its fields do not determine it. An ordinary envelope
// needs none. A shape never leaves the node.
type shape struct {
	style         Style
	had           memberSet              // the members of the envelope
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
	member member
	text   string
}

// The shapes of messages that were not read in that style.
var (
	specShape = &shape{style: Spec, had: setOf(memVersion, memID, memLanguage, memTimestamp, memPayload)}
	ideShape  = &shape{style: IDE, had: setOf(memID, memConversation, memTimestamp, memPayload), plainReceiver: true}
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

// blankOf returns the text of a blank member, and whether there is one.
func (sh *shape) blankOf(m member) (string, bool) {
	for _, b := range sh.blanks {
		if b.member == m {
			return b.text, true
		}
	}
	return "", false
}

// Anycast implements [wire.Anycast].
func (sh *shape) Anycast() bool { return sh.anyone }

// ordinary reports whether the encoder writes the same form without the shape.
func (sh *shape) ordinary() bool {
	return sh.style == Spec && sh.had&^optional&^setOf(memConversation) == specShape.had && len(sh.blanks) == 0 &&
		sh.act == "" && !sh.plainReceiver && sh.payload == nil
}
