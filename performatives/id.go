package performatives

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"
)

// AgentID is the name of an agent. Ids match without regard to case, and are shown in
// the case of their registration (addenda §3). Compare them by [AgentID.Is], or by
// [AgentID.Fold].
type AgentID string

// Fold returns the form under which ids are compared and looked up. It does not
// allocate when id is lower case already.
func (id AgentID) Fold() AgentID { return AgentID(strings.ToLower(string(id))) }

// Clone returns a copy of id. An id that is kept is copied, because it may be a part of a longer
// text, such as all names of a message.
func (id AgentID) Clone() AgentID { return AgentID(strings.Clone(string(id))) }

// Is reports whether both ids name the same agent. It agrees with Fold, which
// strings.EqualFold does not for letters with more than two forms, such as ſ.
func (id AgentID) Is(other AgentID) bool {
	for i := range min(len(id), len(other)) {
		a, b := id[i], other[i]
		if a >= utf8.RuneSelf || b >= utf8.RuneSelf {
			return id.Fold() == other.Fold()
		}
		if a != b && lower(a) != lower(b) {
			return false
		}
	}
	return len(id) == len(other) // no byte folds to nothing
}

// CheckID returns a [*Refusal] with [CodeInvalidID] for an id that is no name of an agent, or that
// could look like another one: it is empty, longer than [MaxIDLength], not UTF-8 in normal form C,
// or has control, zero-width or bidirectional characters or a byte order mark (addenda §9). Ids are
// never rewritten.
func CheckID(id AgentID) error {
	if id == "" {
		return invalidID("id", "is empty")
	}
	return checkID("id", id)
}

// checkID is [CheckID] for a field, which may be empty. It allocates only for an error.
func checkID(field string, id AgentID) error {
	if len(id) > MaxIDLength {
		return invalidID(field, fmt.Sprintf("has %d bytes, the limit is %d", len(id), MaxIDLength))
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= utf8.RuneSelf:
			return checkScript(field, string(id))
		case c < ' ' || c == 0x7f:
			return invalidID(field, fmt.Sprintf("has the control character %U", c))
		}
	}
	return nil
}

// checkScript is checkID for an id that is not ASCII.
func checkScript(field, id string) error {
	if !utf8.ValidString(id) {
		return invalidID(field, "is not UTF-8")
	}
	for _, c := range id {
		switch {
		case unicode.IsControl(c):
			return invalidID(field, fmt.Sprintf("has the control character %U", c))
		case unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zl, unicode.Zp):
			return invalidID(field, fmt.Sprintf("has %U, which is not displayed", c))
		}
	}
	if norm.NFC.QuickSpanString(id) != len(id) && !norm.NFC.IsNormalString(id) { // the first allocates nothing
		return invalidID(field, "is not in Unicode's normal form C")
	}
	return nil
}

func invalidID(field, fault string) error {
	return &Refusal{Code: CodeInvalidID, Field: field, Text: field + ": the id " + fault}
}

// guestMark separates the name of a guest from the rest of its id.
const guestMark = "/client-"

// Guest returns the id under which the node of that name knows its n-th guest: one of several
// clients that send under the same id without owning it.
func (id AgentID) Guest(n int64, node string) AgentID {
	return id + guestMark + AgentID(strconv.FormatInt(n, 10)+"@"+node)
}

// Name returns the id by which a guest knows itself. That of any other agent is its id.
func (id AgentID) Name() AgentID {
	if i := strings.LastIndex(string(id), guestMark); i > 0 && strings.Contains(string(id[i:]), "@") {
		return id[:i]
	}
	return id
}

// lower returns an ASCII letter in lower case, and any other byte as it is.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// MessageID identifies one message. [NewID] makes UUIDs of version 4. From a peer, any
// text of 1 to [MaxIDLength] bytes without control characters is accepted (addenda §1).
type MessageID string

// ConversationID identifies a conversation: all messages of it carry the same.
type ConversationID string

// MaxIDLength is the greatest length of an id in bytes. It bounds the memory that a
// peer's ids can take.
const MaxIDLength = 256

// NewID returns a random UUID of version 4 (RFC 9562 §5.4). It is safe for
// concurrent use.
func NewID() MessageID {
	var id uuid.UUID
	_, _ = rand.Read(id[:])   // never fails; uuid.NewRandom needs memory for it
	id[6] = id[6]&0x0f | 0x40 // version
	id[8] = id[8]&0x3f | 0x80 // variant
	return MessageID(id.String())
}
