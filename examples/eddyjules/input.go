package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// readText reads a file of at most limit bytes of UTF-8. An empty name gives an empty
// text. An error names the flag and contains advice.
func readText(flag, name string, limit int) (string, error) {
	if name == "" {
		return "", nil
	}
	var text []byte
	f, err := os.Open(name)
	if err == nil {
		defer func() { _ = f.Close() }()
		text, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	}
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // without its operation and its path, which is beside it
		err = fmt.Errorf("%w; name a text file that can be read", at.Err)
	case err == nil && len(text) > limit:
		err = fmt.Errorf("larger than %d bytes; shorten it", limit)
	case err == nil && !isText(text):
		err = errors.New("not a text file in UTF-8; save it as one")
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return string(text), nil
}

// isText reports whether b is the same text after it was encoded as JSON.
func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
