package exchange

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxDepth is how deep the objects and arrays of a message may nest, the envelope being the first
// level.
const MaxDepth = 128

// MaxUnknown bounds the unknown members of an object. A message of many tiny members would
// otherwise take many times its length in memory.
const MaxUnknown = 1024

// Open returns a scanner at the object that a frame is, or the refusal of another frame. A
// maxBytes of zero means no limit.
func Open(frame []byte, maxBytes int) (s jsonscan.Scanner, bad *performatives.Refusal) {
	if bad := CheckText(frame, maxBytes); bad != nil {
		return s, bad
	}
	s = jsonscan.Scanner{Data: frame, Depth: MaxDepth}
	if s.Peek() == '{' {
		return s, nil
	}
	if s.Value() && s.End() {
		return s, Invalid("message", "an object", bytes.TrimLeft(frame, " \t\r\n"))
	}
	return s, Broken(s.Problem())
}

// CheckText refuses a frame that is too long or is no UTF-8.
func CheckText(frame []byte, maxBytes int) *performatives.Refusal {
	switch {
	case maxBytes > 0 && len(frame) > maxBytes:
		return Broken(fmt.Sprintf("want at most %d bytes, got %d", maxBytes, len(frame)))
	case !utf8.Valid(frame):
		return Broken("want UTF-8, got other bytes")
	}
	return nil
}

// Broken is the refusal of a frame that cannot be read.
func Broken(text string) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeParsingError, Text: text}
}

// Names has the members of an envelope that a dialect knows, in the order in which they are
// written.
type Names []string

// Find returns the index of a name, or the number of names for an unknown one.
func (n Names) Find(name []byte) int { return n.findFrom(0, name) }

// findFrom is Find that looks at the names from an index on first.
func (n Names) findFrom(at int, name []byte) int {
	for range n {
		if at >= len(n) {
			at = 0
		}
		if n[at] == string(name) {
			return at
		}
		at++
	}
	return len(n)
}

// Members has the members of an envelope before they are decoded. The values are slices of the
// frame.
type Members struct {
	Values  [17][]byte // by the index of the name; nil = absent
	Unknown []Member
	Nested  Nested
	next    int // the index after that of the last known name: nearly all members come in order
}

// Nested has members of the object that is the value of a member. They are found while that is
// scanned. Of one that occurs twice the last counts, as in encoding/json.
type Nested struct {
	In     int   // the index of the member
	Names  Names // none means no object
	Values [3][]byte
	Ends   [3]int // the offsets of the bytes after the values in the scanned data
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value []byte
}

// Had returns the members of an envelope that were there, and those of them that were null.
func (m *Members) Had() (had, null Set[int]) {
	for i, v := range m.Values {
		if v != nil {
			had |= 1 << i
		}
		if jsonscan.IsNull(v) {
			null |= 1 << i
		}
	}
	return had, null
}

// Set is a set of members of an envelope, by their index, or of acts.
type Set[T int | performatives.Performative] uint32

// SetOf returns the set of those elements.
func SetOf[T int | performatives.Performative](elements ...T) (set Set[T]) {
	for _, i := range elements {
		set |= 1 << i
	}
	return set
}

// Has reports whether an element is in the set.
func (s Set[T]) Has(i T) bool { return s&(1<<i) != 0 }

// Scan finds the members of the object at s. After false, s has the error, and m the members
// before it. A known member may come once.
func (m *Members) Scan(s *jsonscan.Scanner, names Names) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if !ok || !more {
			return ok && s.End()
		}
		at := s.Pos
		name, ok := s.Name(quoted)
		if !ok {
			return s.Fail(at, "a name without half a surrogate pair")
		}
		i := names.findFrom(m.next, name)
		if i < len(names) && m.Values[i] != nil {
			return s.Fail(at, "no second "+names[i])
		}
		value, ok := m.Nested.taken(s, i)
		switch {
		case !ok:
			return false
		case i < len(names):
			m.Values[i], m.next = value, i+1
		case len(m.Unknown) == MaxUnknown:
			return s.Fail(at, "no more unknown members")
		default:
			m.Unknown = append(m.Unknown, Member{string(name), value})
		}
	}
}

// taken scans the value of the member with an index, and returns its text.
func (n *Nested) taken(s *jsonscan.Scanner, i int) ([]byte, bool) {
	if i != n.In || n.Names == nil || s.Peek() != '{' {
		return s.Taken()
	}
	from := s.Pos
	ok := n.Scan(s)
	return s.Data[from:s.Pos], ok
}

// Scan finds the members of the object at s. After false, s has the error.
func (n *Nested) Scan(s *jsonscan.Scanner) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if !ok || !more {
			return ok
		}
		name, _ := s.Name(quoted)
		value, ok := s.Taken()
		if !ok {
			return false
		}
		if i := n.Names.Find(name); i < len(n.Names) {
			n.Values[i], n.Ends[i] = value, s.Pos
		}
	}
}

// Reader reads the members of an envelope. It stores the first error.
type Reader struct {
	Fault
	Members
	Names Names
	Path  string // what the names begin with in errors, such as "mcp_header."
}

// Open finds the members of a frame. It reports false for a frame that cannot be read.
func (r *Reader) Open(frame []byte, maxBytes int) bool {
	s, bad := Open(frame, maxBytes)
	if bad == nil && !r.Scan(&s, r.Names) {
		bad = Broken(s.Problem())
	}
	r.Refusal = bad
	return bad == nil
}

// Required reads a string that must be there and must not be empty.
func (r *Reader) Required(i int) string {
	v := r.Values[i]
	if !jsonscan.Is(v, '"') || len(v) == len(`""`) {
		r.Invalid(r.Path+r.Names[i], "a non-empty string", v)
		return ""
	}
	text, ok := jsonscan.Unquote(v)
	if !ok {
		r.Invalid(r.Path+r.Names[i], "text", v)
	}
	return string(text)
}

// Optional reads a string. It is empty if the member is absent or null.
func (r *Reader) Optional(i int) string {
	v := r.Values[i]
	if !jsonscan.IsNone(v) && !jsonscan.Is(v, '"') {
		r.Invalid(r.Path+r.Names[i], "a string or null", v)
	}
	return jsonscan.Text(v)
}

// Time reads a time that must be there.
func (r *Reader) Time(i int) time.Time {
	v := r.Values[i]
	if !jsonscan.Is(v, '"') {
		r.Invalid(r.Path+r.Names[i], "an ISO 8601 time", v)
		return time.Time{}
	}
	text := jsonscan.TextBytes(v)
	t, ok := isotime.Parse(text)
	if !ok || t.IsZero() {
		r.Wrong(r.Path+r.Names[i], "an ISO 8601 time, got %.48q", text)
	}
	return t
}

// KeepAll adds the unknown members of an object to the metadata of a message, under their names
// with a prefix.
func (f *Fault) KeepAll(unknown []Member, metadata *performatives.Members, prefix string) {
	for _, u := range unknown {
		if _, twice := (*metadata)[prefix+u.Name]; twice {
			f.Refuse(Broken("want no second " + u.Name))
		}
		Keep(metadata, prefix+u.Name, u.Value)
	}
}

// KeepObject adds the members of the object at a path to the metadata of a message. A name that
// begins with one of the reserved texts gets the prefix. No member may come twice.
func (f *Fault) KeepObject(path string, object []byte, metadata *performatives.Members, prefix string, reserved ...string) {
	n := 0
	for quoted, v := range jsonscan.Members(object) {
		name := string(quoted)
		for _, r := range reserved {
			if strings.HasPrefix(name, r) {
				name = prefix + name
				break
			}
		}
		if _, twice := (*metadata)[name]; twice {
			f.Refuse(Broken(path + ": want no second " + name))
		}
		if n++; n > MaxUnknown {
			f.Wrong(path, "at most 1,024 members")
			return
		}
		Keep(metadata, name, v)
	}
}
