package acl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// scanner reads JSON text (RFC 8259) once, from left to right, and checks its
// syntax as it goes. It copies nothing: what it finds are slices of data. That
// data is valid UTF-8 is checked elsewhere, for all of it at once.
type scanner struct {
	data  []byte
	pos   int
	depth int    // levels of nesting that are left
	want  string // what was missing at pos, when a method has returned false

	escaped bool // the last string that was read holds an escape sequence
}

func (s *scanner) fail(pos int, want string) bool {
	s.pos, s.want = pos, want
	return false
}

// problem says what went wrong, in words that are safe to show to a peer.
func (s *scanner) problem() string {
	got := "the end"
	if s.pos < len(s.data) {
		got = fmt.Sprintf("%q", s.data[s.pos])
	}
	return fmt.Sprintf("at byte %d: want %s, got %s", s.pos, s.want, got)
}

// peek skips white space and returns the byte after it, 0 at the end.
func (s *scanner) peek() byte {
	data := s.data
	for i := s.pos; i < len(data); i++ {
		if c := data[i]; c > ' ' || !isSpace(c) {
			s.pos = i
			return c
		}
	}
	s.pos = len(data)
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// end checks that nothing but white space is left.
func (s *scanner) end() bool {
	s.peek()
	return s.pos == len(s.data) || s.fail(s.pos, "nothing more")
}

// value reads one value of any kind.
func (s *scanner) value() bool {
	switch s.peek() {
	case '"':
		return s.str()
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// taken reads one value and returns it as it is written.
func (s *scanner) taken() ([]byte, bool) {
	s.peek()
	from := s.pos
	if !s.value() {
		return nil, false
	}
	return s.data[from:s.pos:s.pos], true
}

func (s *scanner) object() bool {
	if !s.open('{') {
		return false
	}
	for first := true; ; first = false {
		if _, more, ok := s.key(first); !ok || !more {
			return ok
		}
		if !s.value() {
			return false
		}
	}
}

func (s *scanner) array() bool {
	if !s.open('[') {
		return false
	}
	if s.peek() == ']' {
		return s.close()
	}
	for {
		if !s.value() {
			return false
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			return s.close()
		default:
			return s.fail(s.pos, "a comma or the end of the array")
		}
	}
}

// open reads the bracket that begins an object or array, which peek has seen.
func (s *scanner) open(bracket byte) bool {
	if s.peek() != bracket {
		return s.fail(s.pos, string(bracket))
	}
	if s.depth == 0 {
		return s.fail(s.pos, "no deeper nesting")
	}
	s.depth--
	s.pos++
	return true
}

func (s *scanner) close() bool {
	s.depth++
	s.pos++
	return true
}

// key reads up to the next value of an object and returns its name in quotes.
// more is false where the object ended instead.
func (s *scanner) key(first bool) (name []byte, more, ok bool) {
	c := s.peek()
	if c == '}' {
		return nil, false, s.close()
	}
	if !first {
		if c != ',' {
			return nil, false, s.fail(s.pos, "a comma or the end of the object")
		}
		s.pos++
		c = s.peek()
	}
	if c != '"' {
		return nil, false, s.fail(s.pos, "the name of a member")
	}
	from := s.pos
	if !s.str() {
		return nil, false, false
	}
	name = s.data[from:s.pos]
	if s.peek() != ':' {
		return nil, false, s.fail(s.pos, "a colon")
	}
	s.pos++
	return name, true, true
}

func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.fail(s.pos, "a value")
	}
	s.pos += len(word)
	return true
}

func (s *scanner) number() bool {
	from := s.pos
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		if s.pos == from {
			return s.fail(from, "a value")
		}
		return false
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

// digits reads one digit or more.
func (s *scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos > from || s.fail(s.pos, "a digit")
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// str reads a string, whose opening quote peek has seen.
func (s *scanner) str() bool {
	data := s.data
	s.escaped = false
	for i := s.pos + 1; ; {
		i += plainRun(data[i:])
		switch {
		case i == len(data):
			return s.fail(i, "the end of a string")
		case data[i] == '"':
			s.pos = i + 1
			return true
		case data[i] != '\\':
			return s.fail(i, "no control character in a string")
		}
		n := escapeLen(data[i:])
		if n == 0 {
			return s.fail(i, "an escape sequence")
		}
		i += n
		s.escaped = true
	}
}

// name returns the text of the string that was read last, which is quoted. It
// reports false as unquote does.
func (s *scanner) name(quoted []byte) ([]byte, bool) {
	if s.escaped {
		return unquote(quoted)
	}
	return quoted[1 : len(quoted)-1], true
}

// plainRun returns how many bytes of b stand for themselves in a string, before
// the first that doesn't. It looks at eight at a time, for most of a message is
// the insides of strings: in each of the three terms the lowest high bit that is
// set marks the first byte below 0x20, equal to a quote, or to a backslash.
func plainRun(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	rest := b
	for ; len(rest) >= 8; rest = rest[8:] {
		x := binary.LittleEndian.Uint64(rest)
		quote, backslash := x^(ones*'"'), x^(ones*'\\')
		stop := ((x-ones*' ')&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & high
		if stop != 0 {
			return len(b) - len(rest) + bits.TrailingZeros64(stop)/8
		}
	}
	for len(rest) > 0 && plain[rest[0]] {
		rest = rest[1:]
	}
	return len(b) - len(rest)
}

// escapeLen returns the length of the escape sequence that b begins with, 0 for
// a malformed one.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}
