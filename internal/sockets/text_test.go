package sockets

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 8, ""},
		{"the token expired", 64, "the token expired"},
		{"ünïcode", 64, "ünïcode"},
		{"a\x1b[31mb\r\nc\x7f\u009b\u202ed", 64, "a [31mb  c   d"},
		{"a\xffb", 64, "a\uFFFDb"},
		{"abcdef", 3, "abc"},
		{"abcdef", 0, ""},
		{"abc𝄞", 6, "abc"},
		{"\xff\xff", 2, ""}, // each is longer as it is shown
	} {
		if got := Clean(c.text, c.n); got != c.want {
			t.Errorf("Clean(%q, %d) is %q, want %q", c.text, c.n, got, c.want)
		}
	}
	for n := range 20 {
		if got := Clean(strings.Repeat("é𝄞", 5), n); len(got) > n {
			t.Errorf("%d bytes, want %d: %q", len(got), n, got)
		} else if !utf8.ValidString(got) {
			t.Errorf("cut within a character: %q", got)
		}
	}
}
