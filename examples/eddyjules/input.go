package main

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/examples/program"
)

// readText reads a file of at most limit bytes of UTF-8. An empty name gives an empty
// text. An error names the flag and contains advice.
func readText(flag, name string, limit int) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := program.ReadFile(name, "a text file", limit)
	if err == nil && !isText(text) {
		err = errors.New("not a text file in UTF-8; save it as one")
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return string(text), nil
}

// isText reports whether b is the same text after it was encoded as JSON.
func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
