package gateway

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// walker goes through one object or array, and checks its syntax on the way.
type walker struct {
	jsonscan.Scanner
	begun bool // it is past the first member or element
}

// walk returns a walker of text that has been checked, or is bounded otherwise.
func walk(text []byte) walker {
	return walker{Scanner: jsonscan.Scanner{Data: text, Depth: maxDepthLimit}}
}

// enter goes past the bracket that begins an object or array.
func (w *walker) enter(bracket byte) bool {
	w.begun = false
	return w.Open(bracket)
}

// key reads up to the value of the next member of an object, whose name it returns in
// quotes. It reports false at the end of the object, or of what is JSON.
func (w *walker) key() ([]byte, bool) {
	quoted, more, ok := w.Key(!w.begun)
	w.begun = true
	return quoted, more && ok
}

// member reads the next member of an object.
func (w *walker) member() (name, v []byte, ok bool) {
	quoted, ok := w.key()
	if !ok {
		return nil, nil, false
	}
	name = unquote(quoted)
	v, ok = w.Taken()
	return name, v, ok
}

// element reads the next element of an array.
func (w *walker) element() ([]byte, bool) {
	v, more, ok := w.Element(!w.begun)
	w.begun = true
	return v, more && ok
}

// valid reports whether text is JSON.
func valid(text []byte) bool {
	w := walk(text)
	return w.Value() && w.End()
}

// unquote returns the text of a JSON string: a slice of it where it has no escapes. Half
// a surrogate pair becomes U+FFFD, as in encoding/json.
func unquote(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	text, ok := jsonscan.Unquote(quoted)
	if !ok {
		var s string
		_ = json.Unmarshal(quoted, &s) // it is part of valid JSON
		return []byte(s)
	}
	return text
}

// is reports whether a value that has been read is of the kind that begins so.
func is(v []byte, begin byte) bool { return len(v) > 0 && v[0] == begin }

func isNull(v []byte) bool { return is(v, 'n') }

func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) }
