package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// Begin returns the Builder of an envelope that is appended to dst, whose values nest to at most
// depth with the envelope.
func Begin(dst []byte, depth int) jsonscan.Builder {
	return jsonscan.Builder{JSON: append(dst, '{'), Depth: max(1, depth-1)}
}

// Finish closes the envelope that begins at start of what b has. The error names the dialect.
func Finish(dialect string, b *jsonscan.Builder, start int) ([]byte, error) {
	out, err := b.Close()
	if err == nil && !utf8.Valid(out[start:]) {
		err = errors.New(dialect + ": want UTF-8")
	}
	return out, err
}

// Object returns a payload as a JSON object; nil is an empty one. The error names the dialect.
func Object(dialect string, payload any) ([]byte, error) {
	if payload == nil {
		return []byte("{}"), nil
	}
	text, err := json.Marshal(payload)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: payload: %w", dialect, err)
	case !jsonscan.Is(text, '{'):
		return nil, errors.New(dialect + ": payload: want a JSON object")
	}
	return text, nil
}
