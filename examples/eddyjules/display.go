package main

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
)

// width is the largest number of characters in a line of prose.
const width = 80

// display holds the properties of the output of a transcript.
type display struct {
	terminal bool // it interprets escape sequences
	color    bool
}

func displayOf(w io.Writer) display {
	is := terminal.Is(w)
	return display{terminal: is, color: is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// The escape sequences of a terminal.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	blue  = "\x1b[34m"
	reset = "\x1b[0m"
)

// paint cleans text and colours it if the display has colours.
func (p display) paint(color, text string) string {
	text = p.clean(text)
	if !p.color || color == "" || text == "" {
		return text
	}
	return color + text + reset
}

// clean removes control characters and bidirectional controls from the text of an agent
// or a script, which a terminal would interpret. Without a terminal it returns text
// unchanged, so that a diff stays intact.
func (p display) clean(text string) string {
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
