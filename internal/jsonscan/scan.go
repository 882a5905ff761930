package jsonscan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Scanner scans JSON text (RFC 8259) once, from left to right, and checks its syntax. It does
// not copy: its results are slices of Data. The caller must check that Data is valid UTF-8.
type Scanner struct {
	Data  []byte
	Pos   int
	Depth int    // remaining levels of nesting
	Want  string // expected text at Pos, after a method has returned false

	escaped bool // the last string has an escape sequence
}

// Fail records the expected text at pos and returns false.
func (s *Scanner) Fail(pos int, want string) bool {
	s.Pos, s.Want = pos, want
	return false
}

// Problem describes the syntax error. The text may be sent to a peer.
func (s *Scanner) Problem() string {
	got := "the end"
	if s.Pos < len(s.Data) {
		got = fmt.Sprintf("%q", s.Data[s.Pos])
	}
	return fmt.Sprintf("at byte %d: want %s, got %s", s.Pos, s.Want, got)
}

// Peek skips white space and returns the byte after it, or 0 at the end.
func (s *Scanner) Peek() byte {
	data := s.Data
	for i := s.Pos; i < len(data); i++ {
		if c := data[i]; c > ' ' || !isSpace(c) {
			s.Pos = i
			return c
		}
	}
	s.Pos = len(data)
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// End reports whether only white space is left.
func (s *Scanner) End() bool {
	s.Peek()
	return s.Pos == len(s.Data) || s.Fail(s.Pos, "nothing more")
}

// Value scans one value of any type.
func (s *Scanner) Value() bool {
	switch s.Peek() {
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

// Taken scans one value and returns its text.
func (s *Scanner) Taken() ([]byte, bool) {
	s.Peek()
	from := s.Pos
	if !s.Value() {
		return nil, false
	}
	return s.Data[from:s.Pos:s.Pos], true
}

func (s *Scanner) object() bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		if _, more, ok := s.Key(first); !ok || !more {
			return ok
		}
		if !s.Value() {
			return false
		}
	}
}

func (s *Scanner) array() bool {
	if !s.Open('[') {
		return false
	}
	for first := true; ; first = false {
		if more, ok := s.next(first); !ok || !more {
			return ok
		}
		if !s.Value() {
			return false
		}
	}
}

// Element scans the next element of an array and returns its text. first is true for the
// first call. more is false at the end of the array.
func (s *Scanner) Element(first bool) (v []byte, more, ok bool) {
	if more, ok = s.next(first); !ok || !more {
		return nil, false, ok
	}
	v, ok = s.Taken()
	return v, ok, ok
}

// next moves to the next element of an array. more is false at the end of the array.
func (s *Scanner) next(first bool) (more, ok bool) {
	c := s.Peek()
	switch {
	case c == ',' && !first:
		s.Pos++
		return true, true
	case c == ']':
		return false, s.close()
	case first:
		return true, true
	}
	return false, s.Fail(s.Pos, "a comma or the end of the array")
}

// Open scans the bracket that begins an object or array, and enters it.
func (s *Scanner) Open(bracket byte) bool {
	if s.Peek() != bracket {
		want := "{"
		if bracket == '[' {
			want = "["
		}
		return s.Fail(s.Pos, want)
	}
	if s.Depth == 0 {
		return s.Fail(s.Pos, "no deeper nesting")
	}
	s.Depth--
	s.Pos++
	return true
}

func (s *Scanner) close() bool {
	s.Depth++
	s.Pos++
	return true
}

// Key scans up to the next value of an object and returns its name in quotes. first is true
// for the first call. more is false at the end of the object.
func (s *Scanner) Key(first bool) (name []byte, more, ok bool) {
	c := s.Peek()
	if c == '}' {
		return nil, false, s.close()
	}
	if !first {
		if c != ',' {
			return nil, false, s.Fail(s.Pos, "a comma or the end of the object")
		}
		s.Pos++
		c = s.Peek()
	}
	if c != '"' {
		return nil, false, s.Fail(s.Pos, "the name of a member")
	}
	from := s.Pos
	if !s.str() {
		return nil, false, false
	}
	name = s.Data[from:s.Pos]
	if s.Peek() != ':' {
		return nil, false, s.Fail(s.Pos, "a colon")
	}
	s.Pos++
	return name, true, true
}

func (s *Scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.Data[s.Pos:], []byte(word)) {
		return s.Fail(s.Pos, "a value")
	}
	s.Pos += len(word)
	return true
}

func (s *Scanner) number() bool {
	from := s.Pos
	if s.at('-') {
		s.Pos++
	}
	if s.at('0') {
		s.Pos++
	} else if !s.digits() {
		if s.Pos == from {
			return s.Fail(from, "a value")
		}
		return false
	}
	if s.at('.') {
		s.Pos++
		if !s.digits() {
			return false
		}
	}
	if s.at('e') || s.at('E') {
		s.Pos++
		if s.at('+') || s.at('-') {
			s.Pos++
		}
		return s.digits()
	}
	return true
}

func (s *Scanner) at(c byte) bool { return s.Pos < len(s.Data) && s.Data[s.Pos] == c }

// digits scans one or more digits.
func (s *Scanner) digits() bool {
	from := s.Pos
	for s.Pos < len(s.Data) && s.Data[s.Pos]-'0' <= 9 {
		s.Pos++
	}
	return s.Pos > from || s.Fail(s.Pos, "a digit")
}

// plain marks the bytes that need no escape in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// str scans a string. Peek has returned its opening quote.
func (s *Scanner) str() bool {
	data := s.Data
	s.escaped = false
	for i := s.Pos + 1; ; {
		i += PlainRun(data[i:])
		switch {
		case i == len(data):
			return s.Fail(i, "the end of a string")
		case data[i] == '"':
			s.Pos = i + 1
			return true
		case data[i] != '\\':
			return s.Fail(i, "no control character in a string")
		}
		n := escapeLen(data[i:])
		if n == 0 {
			return s.Fail(i, "an escape sequence")
		}
		i += n
		s.escaped = true
	}
}

// Name returns the text of the last scanned string, which quoted holds with its quotes. It
// returns false as Unquote does.
func (s *Scanner) Name(quoted []byte) ([]byte, bool) {
	if s.escaped {
		return Unquote(quoted)
	}
	return quoted[1 : len(quoted)-1], true
}

// longRun is the length of a run of plain bytes from which on PlainRun looks for the next quote and
// the next backslash on their own, in at most wideStep bytes at a time.
const (
	longRun  = 64
	wideStep = 512
)

// PlainRun returns the length of the longest prefix of b that needs no escape in a string. It
// checks eight bytes at a time, or 32 in a long run, because most of a message is string contents.
func PlainRun(b []byte) int {
	n := 0
	for limit := longRun; ; limit = len(b) {
		for ; n < limit && len(b)-n >= 8; n += 8 {
			if stop := escapes(binary.LittleEndian.Uint64(b[n:])); stop != 0 {
				return n + bits.TrailingZeros64(stop)/8
			}
		}
		if n < limit || limit == len(b) {
			break
		}
		n += longPlainRun(b[n:])
	}
	for n < len(b) && plain[b[n]] {
		n++
	}
	return n
}

// escapes marks the bytes of a word that need an escape in a string, and perhaps some after the
// first of them. In each of the three terms, the lowest set high bit marks the first byte below
// 0x20, the first quote, or the first backslash.
func escapes(x uint64) uint64 {
	quote, backslash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & high
}

// longPlainRun returns the length of a prefix of b that needs no escape, and that is not the
// longest one. The next byte to be escaped is at most 31 bytes behind it, or beyond.
func longPlainRun(b []byte) (n int) {
	for {
		step := b[n:min(len(b), n+wideStep)]
		if i := bytes.IndexByte(step, '"'); i >= 0 {
			step = step[:i]
		}
		if i := bytes.IndexByte(step, '\\'); i >= 0 {
			step = step[:i]
		}
		whole := len(step) == wideStep
		for ; len(step) >= 32; step, n = step[32:], n+32 {
			w, x := binary.LittleEndian.Uint64(step), binary.LittleEndian.Uint64(step[8:])
			y, z := binary.LittleEndian.Uint64(step[16:]), binary.LittleEndian.Uint64(step[24:])
			if ((w-ones*' ')&^w|(x-ones*' ')&^x|(y-ones*' ')&^y|(z-ones*' ')&^z)&high != 0 {
				return n
			}
		}
		if !whole {
			return n
		}
	}
}

// The bytes 0x01 and 0x80, in each byte of a word.
const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// escapeLen returns the length of the escape sequence at the front of b, or 0 if it is
// malformed.
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
