package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// width is the largest number of characters in a line of prose.
const width = 80

// isTerminal reports whether w may interpret escape sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

// wrap breaks a line between words into lines of at most n characters. A longer word
// gets a line of its own. An empty line stays one line.
func wrap(line string, n int) []string {
	var lines []string
	var last string
	for word := range strings.SplitSeq(line, " ") {
		if last != "" && utf8.RuneCountInString(last)+1+utf8.RuneCountInString(word) > n {
			lines, last = append(lines, last), word
			continue
		}
		if last != "" {
			last += " "
		}
		last += word
	}
	return append(lines, last)
}
