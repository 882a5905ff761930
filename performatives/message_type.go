package performatives

import (
	"fmt"
	"strconv"
)

// MaxMessageTypeLength is the greatest length of a message type, in bytes.
const MaxMessageTypeLength = 64

// CheckMessageType returns nil when name can be a message type, and else a
// [*Refusal] for the field message_type. [Message.MessageType] has the grammar.
func CheckMessageType(name string) error {
	switch {
	case name == "":
		return invalid(fieldMessageType, "a non-empty name", "nothing")
	case len(name) > MaxMessageTypeLength:
		return invalid(fieldMessageType, fmt.Sprintf("at most %d bytes", MaxMessageTypeLength), strconv.Itoa(len(name)))
	case !alphanumeric(name[0]):
		return invalid(fieldMessageType, "a letter or a digit first", fmt.Sprintf("%q", name))
	}
	for i := range len(name) {
		if !alphanumeric(name[i]) && !isMessageTypeMark(name[i]) {
			return invalid(fieldMessageType, "only ASCII letters, digits and _ - . : /", fmt.Sprintf("%q", name))
		}
	}
	return nil
}

// fieldMessageType is the name of the field in a refusal.
const fieldMessageType = "message_type"

// alphanumeric reports whether c is an ASCII letter or a digit.
func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isMessageTypeMark reports whether c is one of the other bytes of a message type.
func isMessageTypeMark(c byte) bool {
	switch c {
	case '_', '-', '.', ':', '/':
		return true
	}
	return false
}
