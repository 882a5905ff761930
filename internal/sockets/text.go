package sockets

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes what a peer says fit for a line of a log: what steers terminals or the
// direction of writing becomes a space, what is no UTF-8 becomes U+FFFD, and no more than n
// bytes are left, cut between characters. It looks at no more than can be left.
func Clean[T string | []byte](text T, n int) string {
	const longest = utf8.UTFMax // of what becomes one byte
	s := strings.Map(printable, string(text[:min(len(text), longest*n)]))
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func printable(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return ' '
	}
	return r // invalid UTF-8 comes as U+FFFD
}
