package sockets

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a peer's text safe for a log line. Control characters and bidirectional
// formatting characters become spaces, invalid UTF-8 becomes U+FFFD, and the result is cut to
// at most n bytes between two characters. The cost is bounded by n, not by the length of
// text.
func Clean[T string | []byte](text T, n int) string {
	const longest = utf8.UTFMax // largest number of input bytes per output byte
	s := strings.Map(printable, string(text[:min(len(text), longest*n)]))
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Bearer returns the token of an Authorization header, or of a message. Clients send it with and
// without the word Bearer (addenda §5).
func Bearer(text string) string {
	text = strings.TrimSpace(text)
	if word, token, _ := strings.Cut(text, " "); strings.EqualFold(word, "bearer") {
		return strings.TrimSpace(token)
	}
	return text
}

func printable(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return ' '
	}
	return r // strings.Map has replaced invalid UTF-8 by U+FFFD
}
