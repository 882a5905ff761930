package gateway

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// walker iterates over one object or array, and checks its syntax.
type walker struct {
	jsonscan.Scanner
	begun bool // the first member or element has been read
}

// walk returns a walker of text. The text has been checked, or its depth is bounded by the
// caller.
func walk(text []byte) walker {
	return walker{Scanner: jsonscan.Scanner{Data: text, Depth: maxDepthLimit}}
}

// enter reads the bracket that begins an object or array.
func (w *walker) enter(bracket byte) bool {
	w.begun = false
	return w.Open(bracket)
}

// key reads up to the value of the next member of an object, and returns the name in
// quotes. It reports false at the end of the object, and at a syntax error.
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

// unquote returns the text of a JSON string. Without escapes the result is a slice of it.
// Half a surrogate pair becomes U+FFFD, as in encoding/json.
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

// is reports whether a JSON value begins with that character, which tells its kind.
func is(v []byte, begin byte) bool { return len(v) > 0 && v[0] == begin }

func isNull(v []byte) bool { return is(v, 'n') }

func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0]-'0' <= 9) }
