package exchange

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxUnknown bounds the unknown members of an object. A message of many tiny members would
// otherwise take many times its length in memory.
const MaxUnknown = 1024

// Open returns a scanner at the object that a frame is, or the refusal of another frame. A
// maxBytes of zero means no limit.
func Open(frame []byte, maxBytes, depth int) (s jsonscan.Scanner, bad *performatives.Refusal) {
	if bad := CheckText(frame, maxBytes); bad != nil {
		return s, bad
	}
	s = jsonscan.Scanner{Data: frame, Depth: depth}
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

// Keys calls each with the names of the members of the object at s, as they are written, until a
// value cannot be read. It reports false if a name cannot be read.
func Keys(s *jsonscan.Scanner, each func(name string)) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if !ok || !more {
			return ok
		}
		each(string(quoted[1 : len(quoted)-1]))
		if !s.Value() {
			return true
		}
	}
}

// Names has the members of an envelope that a dialect knows, in the order in which they are
// written.
type Names []string

// Find returns the index of a name, or the number of names for an unknown one.
func (n Names) Find(name []byte) int {
	for i, known := range n {
		if known == string(name) {
			return i
		}
	}
	return len(n)
}

// Members has the members of an envelope before they are decoded. The values are slices of the
// frame.
type Members struct {
	Values  [12][]byte // by the index of the name; nil = absent
	Unknown []Member
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value []byte
}

// Had returns the members of an envelope that were there, and those of them that were null.
func (m *Members) Had() (had, null Set) {
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

// Set is a set of members of an envelope, by their index.
type Set uint16

// Has reports whether a member is in the set.
func (s Set) Has(i int) bool { return s&(1<<i) != 0 }

// Scan finds the members of the object at s. After false, s has the error, and m the members
// before it. A known member may come once.
func (m *Members) Scan(s *jsonscan.Scanner, names Names) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		switch {
		case !ok:
			return false
		case !more:
			return s.End()
		case !m.member(s, names, quoted):
			return false
		}
	}
}

func (m *Members) member(s *jsonscan.Scanner, names Names, quoted []byte) bool {
	at := s.Pos
	name, ok := s.Name(quoted)
	if !ok {
		return s.Fail(at, "a name without half a surrogate pair")
	}
	i := names.Find(name)
	if i < len(names) && m.Values[i] != nil {
		return s.Fail(at, "no second "+names[i])
	}
	value, ok := s.Taken()
	switch {
	case !ok:
		return false
	case i < len(names):
		m.Values[i] = value
		return true
	case len(m.Unknown) == MaxUnknown:
		return s.Fail(at, "no more unknown members")
	}
	m.Unknown = append(m.Unknown, Member{string(name), value})
	return true
}
