package swarm

import (
	"regexp"
	"strings"

	"github.com/kljensen/snowball/english"
)

// word is a run of letters and digits, such as 8.5, also with an apostrophe within.
var word = regexp.MustCompile(`[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+|[.,]\p{N}+)*`)

// term is a word of a text: as the index has it, and as it stands in the text.
type term struct{ stem, word string }

// each calls do with the terms of a text in their order: its words without the endings of English,
// and without those such as "the", which say nothing.
func each(text string, do func(term)) {
	for _, w := range word.FindAllString(text, -1) {
		bare := strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(w), "’", "'"), "'s")
		if !english.IsStopWord(bare) {
			do(term{english.Stem(bare, false), w})
		}
	}
}

// terms returns the distinct terms of a text in their order.
func terms(text string) (all []term) {
	seen := make(map[string]bool)
	each(text, func(t term) {
		if !seen[t.stem] {
			seen[t.stem] = true
			all = append(all, t)
		}
	})
	return all
}

// count returns how often each term is in the texts.
func count(texts ...string) map[string]int {
	n := make(map[string]int)
	for _, text := range texts {
		each(text, func(t term) { n[t.stem]++ })
	}
	return n
}
