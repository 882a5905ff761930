package jsonscan

import (
	"bytes"
	"encoding/json"
	"iter"
)

// maxDepth is the nesting limit of encoding/json. The functions of this file read values that have
// been scanned before.
const maxDepth = 10_000

// Is reports whether a value begins with that character, which tells its type. An absent value has
// none.
func Is(v []byte, begin byte) bool { return len(v) > 0 && v[0] == begin }

// IsNull reports whether a value is null.
func IsNull(v []byte) bool { return Is(v, 'n') }

// IsNone reports whether a value is null or absent.
func IsNone(v []byte) bool { return len(v) == 0 || v[0] == 'n' }

// IsBool reports whether a value is true or false.
func IsBool(v []byte) bool { return Is(v, 't') || Is(v, 'f') }

// IsNumber reports whether a value is a number.
func IsNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) }

// Valid reports whether text, which may be any text, is one JSON value.
func Valid(text []byte) bool {
	s := Scanner{Data: text, Depth: maxDepth}
	return s.Value() && s.End()
}

// Text returns the text of a string, and "" for any other value. Half a surrogate pair becomes
// U+FFFD, as in encoding/json.
func Text(v []byte) string { return string(TextBytes(v)) }

// TextBytes is [Text] without a copy: the text of a string without escapes is a slice of it.
func TextBytes(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	text, ok := Unquote(v)
	if !ok {
		var s string
		_ = json.Unmarshal(v, &s) // it is part of valid JSON
		return []byte(s)
	}
	return text
}

// Texts returns the strings of an array, and the index of the first element that is none, or -1.
// It returns nil for another value.
func Texts(array []byte) (texts []string, wrong int) {
	if Is(array, '[') {
		texts = []string{}
	}
	for v := range Elements(array) {
		if !Is(v, '"') {
			return texts, len(texts)
		}
		texts = append(texts, Text(v))
	}
	return texts, -1
}

// Elements yields the elements of an array, and nothing for another value.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := Scanner{Data: array, Depth: maxDepth}
		if !s.Open('[') {
			return
		}
		for first := true; ; first = false {
			v, more, ok := s.Element(first)
			if !ok || !more || !yield(v) {
				return
			}
		}
	}
}

// Members yields the names and values of the members of an object, and nothing for another value.
// A name without escapes is a slice of the object.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, v []byte) bool) {
		s := Scanner{Data: object, Depth: maxDepth}
		if !s.Open('{') {
			return
		}
		for first := true; ; first = false {
			quoted, more, ok := s.Key(first)
			if !ok || !more {
				return
			}
			name := quoted[1 : len(quoted)-1]
			if s.escaped {
				name = TextBytes(quoted)
			}
			v, ok := s.Taken()
			if !ok || !yield(name, v) {
				return
			}
		}
	}
}

// Member returns the value of a member of an object, or nil. Of a name that comes twice the last
// value counts, as in encoding/json.
func Member(object []byte, name string) (value []byte) {
	for n, v := range Members(object) {
		if string(n) == name {
			value = v
		}
	}
	return value
}

// Found is a member of an object that [Read] finds.
type Found struct {
	name  string
	value *[]byte
}

// Find has [Read] store the value of the member of that name. The value of an absent member is not
// changed.
func Find(name string, value *[]byte) Found { return Found{name, value} }

// Read reads the members of an object: those of want into their variables, the others by a call of
// rest, which may be nil. Of a name that comes twice the last value counts, as in encoding/json.
// The values are slices of the object.
func Read(object []byte, rest func(name string, v []byte), want ...Found) {
members:
	for name, v := range Members(object) {
		for _, f := range want {
			if f.name == string(name) {
				*f.value = v
				continue members
			}
		}
		if rest != nil {
			rest(string(name), v)
		}
	}
}

// Marshal returns v as encoding/json does, but with <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// WithMember returns a copy of an object with one more member at its end.
func WithMember(object []byte, name string, v []byte) []byte {
	b := Reopen(object)
	b.Raw(name, v)
	return append(b.JSON, '}')
}
