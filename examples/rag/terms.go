package main

import (
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/mapping"

	_ "github.com/blevesearch/bleve/v2/analysis/lang/en" // registers the analyzer
)

// language is the analyzer of all text: English words without endings, and without those that say
// nothing.
const language = "en"

// analyzer makes terms of text, as the index does.
type analyzer struct{ analysis.Analyzer }

func newAnalyzer(m mapping.IndexMapping) analyzer { return analyzer{m.AnalyzerNamed(language)} }

// term is a word of a text: as the index has it, and as it stands in the text.
type term struct{ stem, word string }

// terms returns the distinct terms of a text in their order.
func (a analyzer) terms(text string) (terms []term) {
	seen := make(map[string]bool)
	for _, t := range a.Analyze([]byte(text)) {
		if stem := string(t.Term); !seen[stem] {
			seen[stem] = true
			terms = append(terms, term{stem, text[t.Start:t.End]})
		}
	}
	return terms
}

// stems returns the terms of texts as a set.
func (a analyzer) stems(texts ...string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range a.Analyze([]byte(strings.Join(texts, "\n"))) {
		set[string(t.Term)] = true
	}
	return set
}
