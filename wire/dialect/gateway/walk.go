package gateway

import (
	"bytes"
	"encoding/json"
)

// walker finds the members and elements of JSON text without decoding them. It checks
// no syntax, that is [json.Valid]'s; but it never goes past the end of text that is no
// JSON.
type walker struct {
	text    []byte
	pos     int
	deepest int // of the values that were skipped: how deep objects and arrays nest in them
}

// peek skips white space and returns the byte after it, 0 at the end.
func (w *walker) peek() byte {
	for ; w.pos < len(w.text); w.pos++ {
		if c := w.text[w.pos]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// enter goes past the bracket that begins an object or array.
func (w *walker) enter(bracket byte) bool {
	if w.peek() != bracket {
		return false
	}
	w.pos++
	return true
}

// name reads the name of the next member of an object, in quotes. It reports false at
// the end of the object.
func (w *walker) name() ([]byte, bool) {
	c := w.peek()
	if c == ',' {
		w.pos++
		c = w.peek()
	}
	if c != '"' {
		return nil, false
	}
	from := w.pos
	w.skipString()
	name := w.text[from:w.pos]
	if w.peek() != ':' {
		return nil, false
	}
	w.pos++
	return name, true
}

// element reads the next element of an array. It reports false at the end.
func (w *walker) element() ([]byte, bool) {
	c := w.peek()
	if c == ',' {
		w.pos++
		c = w.peek()
	}
	if c == ']' || c == 0 {
		return nil, false
	}
	return w.value(), true
}

// value reads one value as it is written.
func (w *walker) value() []byte {
	w.peek()
	from := w.pos
	w.skip()
	return w.text[from:w.pos:w.pos]
}

// skip goes past one value.
func (w *walker) skip() {
	for depth := 0; w.pos < len(w.text); {
		switch w.text[w.pos] {
		case '"':
			w.skipString()
		case '{', '[':
			depth++
			w.deepest = max(w.deepest, depth)
			w.pos++
		case '}', ']':
			depth--
			w.pos++
		default:
			w.pos++
		}
		if depth <= 0 && w.ends() {
			return
		}
	}
}

// ends reports whether no value outside of all brackets goes on here.
func (w *walker) ends() bool {
	if w.pos == len(w.text) {
		return true
	}
	switch w.text[w.pos] {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// skipString goes past the string that begins here. Most strings have few escapes, and
// no byte is looked at more than twice.
func (w *walker) skipString() {
	w.pos++
	for end := w.pos; ; end++ {
		i := bytes.IndexByte(w.text[min(end, len(w.text)):], '"')
		if i < 0 {
			w.pos = len(w.text)
			return
		}
		end += i
		if !w.skipEscapes(end) {
			w.pos = end + 1
			return
		}
	}
}

// skipEscapes goes past the escape sequences before the quote at end, and reports
// whether the last of them has escaped it.
func (w *walker) skipEscapes(end int) bool {
	for w.pos < end {
		i := bytes.IndexByte(w.text[w.pos:end], '\\')
		if i < 0 {
			return false
		}
		w.pos += i + 2
	}
	return w.pos > end
}

// unquote returns the text of a JSON string: a slice of it where it has no escapes.
func unquote(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it is part of valid JSON
	return []byte(s)
}

// kindOf says what a JSON value is, in words for a peer.
func kindOf(v []byte) string {
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// is reports whether a value that has been read is of the kind that begins so.
func is(v []byte, begin byte) bool { return len(v) > 0 && v[0] == begin }

func isNull(v []byte) bool { return is(v, 'n') }

func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) }
