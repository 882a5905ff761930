package acl

import "github.com/ribosome-agents/ribosome/performatives"

// shape is what [performatives.Message.Shape] holds for this dialect: how the
// message was written, as far as its fields do not say. An ordinary envelope needs
// none. It never travels: what a peer told us beyond the form is in the
// message's Metadata.
type shape struct {
	style         Style
	had           memberSet              // the members that were there
	blanks        []blank                // those of them that say nothing, such as a null
	act           string                 // the name of the act; empty = its own
	plainReceiver bool                   // the receiver is a string
	bare          bool                   // the payload is the parameters of a task (style IDE)
	derived       bool                   // the in_reply_to is the conversation_id (style IDE)
	of            *performatives.Message // the message that has been decoded
	payload       []byte                 // its payload as it came; nil where the message has it too
}

// blank is a member whose field is empty, as it came.
type blank struct {
	member member
	text   string
}

// What a message has when nothing is known of a form that it came in.
var (
	specShape = &shape{style: Spec, had: setOf(memVersion, memID, memLanguage, memTimestamp, memPayload)}
	ideShape  = &shape{style: IDE, had: setOf(memID, memConversation, memTimestamp, memPayload), plainReceiver: true}
)

// shapeFor returns the shape in which to write m for a peer of that style: that
// in which m came, where it is of the same style.
func shapeFor(m *performatives.Message, style Style) *shape {
	if sh, ok := m.Shape().(*shape); ok && sh.style == style {
		return sh
	}
	if style == IDE {
		return ideShape
	}
	return specShape
}

// blankOf returns the text of a member that says nothing.
func (sh *shape) blankOf(m member) (string, bool) {
	for _, b := range sh.blanks {
		if b.member == m {
			return b.text, true
		}
	}
	return "", false
}

// ordinary reports whether a message that came so would be written so without
// its shape.
func (sh *shape) ordinary() bool {
	return sh.style == Spec && sh.had&^optional&^setOf(memConversation) == specShape.had && len(sh.blanks) == 0 &&
		sh.act == "" && !sh.plainReceiver && sh.payload == nil
}
