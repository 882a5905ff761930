package pydebug

import (
	"strings"
	"testing"
)

// lexed is the text of the tokens of src, joined by spaces.
func lexed(src string) string {
	tokens, _ := tokenize(src)
	var words []string
	for _, tok := range tokens {
		if tok.Kind == TokenNewline {
			words = append(words, "⏎")
			continue
		}
		words = append(words, src[tok.Start:tok.End])
	}
	return strings.Join(words, " ")
}

func TestTokenize(t *testing.T) {
	tests := []struct{ src, want string }{
		{"x = y[3]  # z[4]\n", "x = y [ 3 ] ⏎"},
		{"a//=b**c->d:=e", "a //= b ** c -> d := e ⏎"},
		{"f(\n  1,\n  2)\n\n\nx", "f ( 1 , 2 ) ⏎ x ⏎"},
		{"a = b + \\\r\n c\r\nd\re", "a = b + c ⏎ d ⏎ e ⏎"},
		{`x = "a[0] # 'no'" 'b\'c'`, `x = "a[0] # 'no'" 'b\'c' ⏎`},
		{"'''a\n\"\"\"b'\n''' c", "'''a\n\"\"\"b'\n''' c ⏎"},
		// In a raw string too, a backslash keeps the quote from ending the string.
		{`rb"\"a" Br'\\' U"x" bytes "y"`, `rb"\"a" Br'\\' U"x" bytes "y" ⏎`},
		{`f"a{x[1]!r:>{w}}b{{c}}" + d`, `f" a { x [ 1 ] !r:> { w } } b{{c}} " + d ⏎`},
		{`f"{a != b} {c=} {d['k']}"`, `f" { a != b }   { c = }   { d [ 'k' ] } " ⏎`},
		{"1e-5 0x1e-5 1_000.5j .5 x.y 3.real", "1e-5 0x1e - 5 1_000.5j .5 x . y 3.real ⏎"},
		{"grün = größe[0]", "grün = größe [ 0 ] ⏎"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := lexed(tt.src); got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

func TestTokenizeFindsProblems(t *testing.T) {
	tests := map[string]string{
		"x = (1,\ny":     "line 1: '(' was never closed",
		"x = [1)":        "line 1: ')' doesn't close '['",
		"a\nb)":          "line 2: ')' closes nothing",
		"x = 'abc\ny":    "line 1: a string that is never closed",
		"\n'''abc":       "line 2: a string that is never closed",
		"x = $y":         "line 1: '$' has no meaning in Python",
		"x \\ y":         "line 1: a backslash that doesn't end its line",
		`f"{x"`:          "line 1: a string that is never closed",
		"if x:\ny = 1":   "line 1: 'if' without a body",
		"if x\n  y":      "line 1: 'if' without its ':'",
		"x\n  y":         "line 2: an indentation that fits no block",
		"if a:\n  b\n c": "line 3: an indentation that fits no block",
		"a;;b":           "line 1: a ';' without a statement",
	}
	for src, want := range tests {
		if _, err := ParsePart(src); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", src, err, want)
		}
	}
}
