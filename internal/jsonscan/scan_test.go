package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// pieces are the building blocks of valid and nearly valid JSON.
var pieces = []string{
	"", "{", "}", "[", "]", ",", ":", `"a"`, `"a":`, `"\u00e9\n"`, `"\ud83d"`, `"\x"`, `"\u12"`, `"\u12`, `"\`, "\"\x01\"", `"`, "0", "-", "01", "-0.5", "1.5e+3", "1.", ".5", "1e", "1E5",
	"true", "nul", "null", "false", " ", "\n", "\v", `"aaaaaaaaaaaa\\bbbbbbbbbbb"`, "\"\x01n\"", "\"aaa\x1fnaaaaaaa\"", "\"aaaaa\x7f\xc3\xa9 aaaa\"", "{}", "[]", `{"a":1}`,
}

func accepts(text []byte) (Scanner, bool) {
	s := Scanner{Data: text, Depth: 10_000}
	return s, s.Value() && s.End()
}

// The scanner accepts exactly what encoding/json accepts.
func TestAgreesWithEncodingJSON(t *testing.T) {
	check := func(text string) {
		if s, got := accepts([]byte(text)); got != json.Valid([]byte(text)) {
			t.Errorf("%q: %v (%s)", text, got, s.Problem())
		}
	}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				check(a + b + c)
				check("[" + a + b + c + "]")
			}
			check(`{"k":` + a + b + `}`)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, piece := range pieces {
		f.Add([]byte(piece))
	}
	f.Add([]byte(`{"a":[1,-0.5e+3,{"b":null}],"c":"\u00e9\n"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		if s, got := accepts(text); got != json.Valid(text) {
			t.Fatalf("%q: %v (%s)", text, got, s.Problem())
		}
		var want string
		if json.Unmarshal(text, &want) != nil || !strings.HasPrefix(string(text), `"`) {
			return
		}
		s := Scanner{Data: text}
		s.Value()
		if got, ok := Unquote(text[:s.Pos]); ok && string(got) != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

func TestDepth(t *testing.T) {
	for _, pair := range []string{"[]", "{}"} {
		open := pair[:1]
		if pair == "{}" {
			open = `{"a":`
		}
		text := strings.Repeat(open, 5) + "1" + strings.Repeat(pair[1:], 5)
		for depth := range 8 {
			s := Scanner{Data: []byte(text), Depth: depth}
			if s.Value() != (depth >= 5) {
				t.Errorf("%s with %d levels: %s", text, depth, s.Problem())
			}
		}
	}
}

func TestStringsOfControlCharacters(t *testing.T) {
	for c := range byte(' ') {
		for n := range 20 {
			text := []byte(`"` + strings.Repeat("a", n) + string(c) + `nbbbbbbbbbbbb"`)
			if _, ok := accepts(text); ok {
				t.Errorf("%q is accepted", text)
			}
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, text := range []string{"", "plain", "a\"b\\c\nd\te\rf\x00g\x1f", "é\U0001F600", "<&>"} {
		quoted := AppendQuoted([]byte("x"), text)
		var got string
		if err := json.Unmarshal(quoted[1:], &got); err != nil || got != text {
			t.Errorf("%q: %s, %v", text, quoted, err)
		}
	}
	if got := string(AppendQuoted(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("got %s", got)
	}
}

func TestUnpairedSurrogateIsRefused(t *testing.T) {
	for _, text := range []string{`"\ud83d"`, `"\ude00"`, `"\ud83d\u0041"`} {
		if got, ok := Unquote([]byte(text)); ok {
			t.Errorf("%s is %q", text, got)
		}
	}
	if got, ok := Unquote([]byte(`"\ud83d\ude00\/"`)); !ok || string(got) != "\U0001F600/" {
		t.Errorf("%q, %v", got, ok)
	}
}

// PlainRun agrees with a bytewise implementation for each byte at each position.
func TestPlainRun(t *testing.T) {
	racetest.Skip(t)
	for _, length := range []int{0, 1, 7, 8, 9, 31, 32, 33, 40, 64, 71, 97, 135, longRun + wideStep + 40} {
		for _, filler := range []byte{'x', ' ', '!', '#', 0x7f, 0x80, 0xa2, 0xdc, 0xff} {
			text := bytes.Repeat([]byte{filler}, length)
			for at := range text {
				for c := range 256 {
					text[at] = byte(c)
					want := length
					if c < ' ' || c == '"' || c == '\\' {
						want = at
					}
					if got := PlainRun(text); got != want {
						t.Fatalf("%#x at %d of %d, among %#x: %d, want %d", c, at, length, filler, got, want)
					}
				}
				text[at] = filler
			}
		}
	}
}
