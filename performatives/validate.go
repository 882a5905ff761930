package performatives

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameLength bounds an ontology, a language and a protocol, in bytes.
const maxNameLength = 1024

// validate checks all fields of e. Its errors are a [*Refusal] that names the field.
// It runs for every message, and allocates only for an error.
func (e *Envelope) validate() error {
	if e.Performative == 0 {
		return invalid("performative", "a known act", noAct(e.Payload))
	}
	if !e.Performative.Valid() {
		return invalid("performative", "a known act", e.Performative.String())
	}
	if err := e.checkIDs(); err != nil {
		return err
	}
	switch {
	case !plain(e.Ontology, maxNameLength):
		return unfit("ontology", e.Ontology, maxNameLength)
	case !plain(e.Language, maxNameLength):
		return unfit("language", e.Language, maxNameLength)
	case !plain(e.Protocol, maxNameLength):
		return unfit("protocol", e.Protocol, maxNameLength)
	case e.MessageType != "":
		if err := CheckMessageType(e.MessageType); err != nil {
			return err
		}
	}
	switch {
	case e.Timestamp.IsZero():
		return invalid("timestamp", "a time", "nothing")
	case !e.Priority.Valid():
		return invalid("priority", "low, normal, high or urgent", e.Priority.String())
	case e.Trace != "" && !ValidTrace(e.Trace):
		return invalid("trace", "a W3C traceparent", fmt.Sprintf("%.64q", e.Trace))
	}
	return e.checkPayload()
}

// noAct describes a message without an act, and tells its maker how to name one.
func noAct(payload any) string {
	if payload == nil {
		return "none, and no payload that implies one"
	}
	return fmt.Sprintf("none, and the payload type %T implies none: give it a method Act() performatives.Performative, "+
		"or name the act (Envelope.Performative, or a call that takes it, such as Message.ReplyAs or Node.Ask with WithAct)", payload)
}

func (e *Envelope) checkIDs() error {
	id := string(e.ID) // often the ConversationID and the ReplyWith too
	switch {
	case e.ID == "":
		return invalid("message_id", "a non-empty string", "nothing")
	case e.Sender == "":
		return invalid("sender", "the id of an agent", "nothing")
	case e.InReplyTo == "" && e.Performative.IsReply():
		return invalid("in_reply_to", "the message_id or reply_with of the message that this "+e.Performative.String()+" answers", "nothing")
	case !plain(id, MaxIDLength):
		return unfit("message_id", id, MaxIDLength)
	case string(e.ConversationID) != id && !plain(string(e.ConversationID), MaxIDLength):
		return unfit("conversation_id", string(e.ConversationID), MaxIDLength)
	case !plain(e.InReplyTo, MaxIDLength):
		return unfit("in_reply_to", e.InReplyTo, MaxIDLength)
	case e.ReplyWith != id && !plain(e.ReplyWith, MaxIDLength):
		return unfit("reply_with", e.ReplyWith, MaxIDLength)
	}
	if err := checkID("sender", e.Sender); err != nil {
		return err
	}
	return checkID("receiver", e.Receiver)
}

// plain reports whether s is UTF-8 of at most limit bytes without control characters.
// With them, a peer could forge log lines.
func plain(s string, limit int) bool {
	if len(s) > limit {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		case c < ' ' || c == 0x7f:
			return false
		}
	}
	return true
}

// unfit returns the refusal of a text that is not [plain].
func unfit(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return invalid(field, fmt.Sprintf("at most %d bytes", limit), strconv.Itoa(len(s)))
	case !utf8.ValidString(s):
		return invalid(field, "valid UTF-8", "other bytes")
	}
	return invalid(field, "no control characters", "one")
}

// ValidTrace reports whether a text has the form of a traceparent (W3C Trace Context §3.2), as the
// Trace of an [Envelope] has it. One of a later version than 00 may have more parts, which are not
// checked.
func ValidTrace(s string) bool {
	const zeros = "00000000000000000000000000000000"
	if len(s) < 55 || len(s) > MaxIDLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return false
	}
	version, trace, parent, flags := s[:2], s[3:35], s[36:52], s[53:55]
	if !lowerHex(version) || !lowerHex(trace) || !lowerHex(parent) || !lowerHex(flags) {
		return false
	}
	if version == "ff" || trace == zeros || parent == zeros[:len(parent)] {
		return false
	}
	return len(s) == 55 || version != "00" && s[55] == '-' && plain(s, MaxIDLength)
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// CheckPayload returns nil when a payload can be the content of that act without a message type.
// Otherwise it returns the [*Refusal] that [New] would return.
func CheckPayload(act Performative, payload any) error {
	e := Envelope{Performative: act, Payload: payload}
	return e.checkPayload()
}

// checkPayload checks that the content fits the act and is well-formed. A message
// type lifts the demand for the payload type of the act: the application defines the
// payload. A payload of a built-in type still belongs to its own act, and the
// payload's own Validate always runs.
func (e *Envelope) checkPayload() error {
	if e.Payload == nil {
		if builtin[e.Performative] != nil && e.MessageType == "" {
			return invalid("payload", "the payload of "+e.Performative.String(), "nothing")
		}
		return nil
	}
	if raw, ok := e.Payload.(Raw); ok {
		return raw.check()
	}
	switch v := reflect.ValueOf(e.Payload); v.Kind() {
	case reflect.Struct:
	case reflect.Map:
		if v.IsNil() {
			return invalid("payload", "an object", "a nil map")
		}
	case reflect.Pointer:
		return invalid("payload", "a value, so that a type switch has one case a type", fmt.Sprintf("the pointer %T", e.Payload))
	default:
		return invalid("payload", "a struct, a map or Raw, so that it is a JSON object", fmt.Sprintf("%T", e.Payload))
	}
	if own := actOf(e.Payload); own != 0 && own != e.Performative {
		return invalid("payload", "the payload of "+e.Performative.String(), "that of "+own.String())
	}
	return validatePayload(e.Payload)
}

// check tests the first and the last character of r only: the dialect that read it has
// parsed it, and a second pass would cost time for every message.
func (r Raw) check() error {
	if len(r) == 0 {
		return nil
	}
	if got := notAnObject(r); got != "" && got != "nothing" {
		return invalid("payload", "an object", got)
	}
	return nil
}

// notAnObject describes b if it is no JSON object, judging by its first and last character.
// It returns nothing for an object.
func notAnObject(b []byte) string {
	if len(b) > 1 && b[0] == '{' && b[len(b)-1] == '}' {
		return ""
	}
	trimmed := bytes.Trim(b, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return jsonForm(trimmed)
	}
	if trimmed[len(trimmed)-1] != '}' {
		return "one that does not end"
	}
	return ""
}

// validator is the interface of a payload that checks its own members.
type validator interface{ Validate() error }

// validatePayload runs the payload's own Validate. The path of the field in its error
// begins at the message.
func validatePayload(payload any) error {
	v, ok := payload.(validator)
	if !ok {
		return nil
	}
	err := v.Validate()
	if err == nil {
		return nil
	}
	return payloadRefusal(err)
}
