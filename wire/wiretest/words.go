package wiretest

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// CheckWords checks the vocabulary of a protocol both ways: each code has one of the words, and
// each word stands for at least one code and is read as a code that has the word.
func CheckWords(t *testing.T, words wire.Words, all ...string) {
	t.Helper()
	used := make(map[string][]performatives.Code)
	for _, c := range performatives.Codes() {
		word := words.Of(c.Code)
		used[word] = append(used[word], c.Code)
		if !slices.Contains(all, word) {
			t.Errorf("%s is written as %q, which is none of %q", c.Code, word, all)
		}
		switch own := words.Read(word, string(c.Code)); {
		case own != c.Code:
			t.Errorf("%s is written as %q, and read as %s", c.Code, word, own)
		case words.Own(c.Code) != word:
			t.Errorf("%s has the words %q and %q", c.Code, word, words.Own(c.Code))
		}
		if back, _ := words.Code(word); (words.Exact(c.Code) == "") != (back == c.Code) {
			t.Errorf("%s is written as %q, which is read as %s; it is more exact: %q", c.Code, word, back, words.Exact(c.Code))
		}
	}
	for _, word := range all {
		if c, ok := words.Code(word); !ok || !slices.Contains(used[word], c) {
			t.Errorf("%q stands for %v, and is read as %q", word, used[word], c)
		}
	}
	const own = performatives.Code("out_of_coffee")
	if words.Of(own) != words.Of(performatives.CodeInternal) || words.Own(own) != string(own) || words.Read(string(own), "") != own || words.Exact(own) != "" {
		t.Errorf("the code %s of a peer is written as %q or %q", own, words.Of(own), words.Own(own))
	}
}
