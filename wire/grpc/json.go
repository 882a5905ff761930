package grpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deep the objects and arrays of one JSON value may nest, as in acl.
const maxDepth = 128

var (
	errNoUTF8  = errors.New("want UTF-8, got other bytes")
	errNoJSON  = errors.New("want JSON, got other text")
	errTooDeep = fmt.Errorf("want at most %d levels", maxDepth)
)

// checkJSON says why text is no JSON value that travels.
func checkJSON(text []byte) error {
	switch {
	case !utf8.Valid(text):
		return errNoUTF8
	case !json.Valid(text):
		return errNoJSON
	case depthOf(text) > maxDepth:
		return errTooDeep
	}
	return nil
}

// checkEntry is the same for an entry of the metadata.
func checkEntry(name string, value []byte) error {
	if !utf8.ValidString(name) {
		return errNoUTF8
	}
	return checkJSON(value)
}

// depthOf returns how deep valid JSON nests, or 0 when that cannot be much.
func depthOf(text []byte) int {
	if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) <= maxDepth {
		return 0
	}
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// isObject reports whether valid JSON is an object.
func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}
