package performatives

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// maxNesting is the depth at which encoding/json gives up.
const maxNesting = 10_000

// eachMember calls f with the name and the value of each member of the JSON object b, in their
// order. The value is a slice of b. It runs for every received message, and a map of
// json.RawMessage would copy every value. The error is that of f, or says that b is malformed.
func eachMember(b []byte, f func(name, value []byte) error) error {
	s := jsonscan.Scanner{Data: b, Depth: maxNesting}
	if !s.Open('{') {
		return errors.New(s.Problem())
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if ok && !more && s.End() {
			return nil
		}
		if !ok || !more {
			return errors.New(s.Problem())
		}
		name, ok := s.Name(quoted)
		if !ok || !utf8.Valid(name) { // as encoding/json reads it
			var text string
			_ = json.Unmarshal(quoted, &text) // it is a string
			name = []byte(text)
		}
		value, ok := s.Taken()
		if !ok {
			return errors.New(s.Problem())
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
}
