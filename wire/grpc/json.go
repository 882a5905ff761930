package grpc

import (
	"errors"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// maxDepth bounds the nesting of objects and arrays of one JSON value, as in acl.
const maxDepth = 128

var errNoUTF8 = errors.New("want UTF-8, got other bytes")

// checkJSON returns an error for text that is no JSON value, or nests too deep.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errNoUTF8
	}
	if s := (jsonscan.Scanner{Data: text, Depth: maxDepth}); !s.Value() || !s.End() {
		return errors.New(s.Problem())
	}
	return nil
}

// checkEntry is [checkJSON] for an entry of the metadata.
func checkEntry(name string, value []byte) error {
	if !utf8.ValidString(name) {
		return errNoUTF8
	}
	return checkJSON(value)
}
