package sockets

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes what a peer says fit for a line of a log: what steers terminals or the
// direction of writing becomes a space, what is no UTF-8 becomes U+FFFD, and no more than n
// bytes are left, cut between characters.
func Clean(text string, n int) string {
	text = strings.Map(printable, text)
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func printable(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return ' '
	}
	return r // invalid UTF-8 comes as U+FFFD
}
