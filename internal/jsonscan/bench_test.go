package jsonscan

import (
	"strings"
	"testing"
)

// BenchmarkValue scans an object with one string of 1,000 bytes: of ASCII, and with other letters
// of UTF-8.
func BenchmarkValue(b *testing.B) {
	for _, c := range []struct{ name, letters string }{{"ASCII", "x"}, {"UTF-8", "xxxxxxxxé"}} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(`{"text":"` + strings.Repeat(c.letters, 1000/len(c.letters)) + `"}`)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if s := (Scanner{Data: text, Depth: 1}); !s.Value() {
					b.Fatal(s.Problem())
				}
			}
		})
	}
}
