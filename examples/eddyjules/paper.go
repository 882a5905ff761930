package main

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is the length of a line of prose, in characters: what every terminal has.
const width = 80

// paper is what a transcript is written on.
type paper struct {
	terminal bool // of which escape sequences in a text of others must be kept
	color    bool
}

func paperOf(w io.Writer) paper {
	f, ok := w.(*os.File)
	if !ok {
		return paper{}
	}
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return paper{terminal: terminal, color: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// The escape sequences of a terminal.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	blue  = "\x1b[34m"
	reset = "\x1b[0m"
)

// paint makes text colourful where that is wanted, and clean.
func (p paper) paint(color, text string) string {
	text = p.clean(text)
	if !p.color || color == "" || text == "" {
		return text
	}
	return color + text + reset
}

// clean drops from a text of others what a terminal would obey, or show in another
// order than it is. In a pipe nothing is dropped, so that a diff stays one.
func (p paper) clean(text string) string {
	if !p.terminal {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// oneLine is text without line breaks, and cut where nobody would read on.
func oneLine(text string) string {
	const limit = 400 // characters
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit-1]) + "…"
	}
	return text
}

// wrap breaks a line between words into lines of at most n characters, where
// words are not longer. An empty line stays one.
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
