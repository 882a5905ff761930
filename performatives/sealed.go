package performatives

import "strings"

// TypeSealed is the message type of a message with a sealed payload: one that its sender has signed
// and encrypted for its receiver (docs/sealed-payloads.md). Where the application has named a
// message type, it follows after a colon, as in jose:REVIEW_REQUEST.
const TypeSealed = "jose"

// SealedPayload is the payload of a message with a sealed payload.
type SealedPayload struct {
	JOSE string `json:"jose"` // a JWE in the compact form (RFC 7516 §7.1), whose content is a JWS
}

// SealedType returns the message type of a sealed message, for that of the message that is sealed,
// which may be empty. The result may be longer than [MaxMessageTypeLength].
func SealedType(messageType string) string {
	if messageType == "" {
		return TypeSealed
	}
	return TypeSealed + ":" + messageType
}

// IsSealedType reports whether a message type is that of a sealed message.
func IsSealedType(messageType string) bool {
	rest, ok := strings.CutPrefix(messageType, TypeSealed)
	return ok && (rest == "" || rest[0] == ':')
}

// Sealed reports whether the payload of m is sealed. Only its receiver can read it; the envelope is
// in the clear.
func (m *Message) Sealed() bool { return m.rare != nil && IsSealedType(m.rare.messageType) }

// Header returns a message with the clear part of the envelope of m, and with the message type from
// before m was sealed. It is for readers that need no payload. It returns m itself if m is not
// sealed. The result must not be sent.
func (m *Message) Header() *Message {
	if !m.Sealed() {
		return m
	}
	h := *m
	h.marks &^= marksAuthentic
	h.changeRare(func(r *rare) { r.messageType = strings.TrimPrefix(strings.TrimPrefix(r.messageType, TypeSealed), ":") })
	return &h
}

// MarkAuthentic records that the sender has sealed the payload of m for the receiver. Only the
// runtime of the receiver may call it, after it has opened m and before it passes m on.
func (m *Message) MarkAuthentic() { m.marks |= marksAuthentic }

// Authentic reports whether the payload of m was sealed when m arrived. The sender has then proved
// that it made m, and no relay between the two agents has read the payload. A copy of m by
// [Message.With] is not authentic.
func (m *Message) Authentic() bool { return m.marks&marksAuthentic != 0 }
