package gateway

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// walker iterates over one object or array, and checks its syntax.
type walker struct {
	jsonscan.Scanner
	begun bool // the first member or element has been read
}

// walk returns a walker of text. The text has been checked, or its depth is bounded by the
// caller.
func walk(text []byte) walker {
	return walker{Scanner: jsonscan.Scanner{Data: text, Depth: exchange.MaxDepth}}
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
	name = jsonscan.TextBytes(quoted)
	v, ok = w.Taken()
	return name, v, ok
}
