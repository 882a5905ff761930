package grpc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The scanner accepts what encoding/json accepts, and nothing else.
func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"{", "}", "[", "]", ",", ":", `"a"`, `"a":`, `"\u00e9\n"`, `"\ud83d"`, `"\x"`, `"\u12"`, `"\u12`, `"\`, "\"\x01\"", `"`, "0", "-", "01", "-0.5",
		"1.5e+3", "1.", ".5", "1e", "1E5", "true", "nul", "null", "false", " ", "\n", "\v", `"aaaaaaaaaaaa\\bbb"`, "\"\x7f\xc3\xa9\"", "{}", "[]", `{"a":1}`,
	})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 9).Draw(t, "pieces"), ""))
		if got, want := checkJSON(text) == nil, json.Valid(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

func FuzzScanner(f *testing.F) {
	for _, text := range []string{`{"a":[1,-0.5e+3,{"b":null}],"c":"\u00e9\n"}`, `[[[]]]`, ` true `, `{"a":{}}`, `"`, `[1,]`, `{"a"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := checkJSON(text)
		if errors.Is(err, errNoUTF8) || errors.Is(err, errTooDeep) {
			return
		}
		if got, want := err == nil, json.Valid(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

func TestDepth(t *testing.T) {
	for _, pair := range []string{"[]", "{}"} {
		open, end := pair[:1], pair[1:]
		if pair == "{}" {
			open = `{"a":`
		}
		deep := func(n int) []byte { return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n)) }
		if err := checkJSON(deep(maxDepth)); err != nil {
			t.Errorf("%d levels: %v", maxDepth, err)
		}
		if err := checkJSON(deep(maxDepth + 1)); !errors.Is(err, errTooDeep) {
			t.Errorf("%d levels: %v", maxDepth+1, err)
		}
	}
}
