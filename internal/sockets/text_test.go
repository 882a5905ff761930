package sockets

import (
	goruntime "runtime"
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
		{"\xff\xff", 2, ""}, // each becomes the three bytes of U+FFFD
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

// Clean reads only as much of a long text as the result can need, also when earlier
// characters become shorter.
func TestCleanOfMuch(t *testing.T) {
	for _, c := range []string{"\xff", "\u202e", "\x1b", "x", "𝄞"} {
		text := []byte(strings.Repeat(c, 1<<20))
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		got := Clean(text, 512)
		goruntime.ReadMemStats(&after)
		if len(got) > 512 || len(got) < 510 {
			t.Errorf("%q: %d bytes are left", c, len(got))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%q: %d bytes allocated", c, n)
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "Bearer": "", "bearer ": "", "Bearer x": "x", "bEARER  x ": "x", "x": "x", " x": "x", "Bearerx": "Bearerx", "Basic x": "Basic x",
	} {
		if got := Bearer(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}
