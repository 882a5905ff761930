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

// readText reads a file of at most limit bytes of UTF-8; no name is no text. An
// error names the flag and says what to do.
func readText(flag, name string, limit int) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := readFile(name, limit)
	var at *fs.PathError
	if errors.As(err, &at) { // its operation tells people nothing
		return "", fmt.Errorf("%s %s: %w; name a text file that can be read", flag, name, at.Err)
	}
	if err == nil && !isText(text) {
		err = errors.New("not a text file in UTF-8; save it as one")
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return string(text), nil
}

func readFile(name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("larger than %d bytes; cut it down to what fails", limit)
	}
	return text, err
}

// isText refuses what would not be the same text once it has been JSON.
func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
