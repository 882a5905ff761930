package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
)

// nothingFound is the response when the passages do not say anything about the question.
const nothingFound = "The documents say nothing about this."

// newResponseAgent returns the agent that answers from passages: by an extract, or by a language
// model if there is one.
func newResponseAgent(a analyzer, m *model) actors.Agent {
	return worker{"question answering", map[string]task{
		taskResponse: performs("Answers a question from passages, which it cites by number.", func(ctx context.Context, _ delegation.Task, r response) (any, string, error) {
			begin := time.Now()
			got := responded{Response: nothingFound}
			var err error
			switch {
			case len(r.Passages) == 0:
			case m == nil:
				got = extractAnswer(a, r)
			default:
				got, err = m.answer(ctx, r)
			}
			got.complete(a, r)
			got.Millis = float64(time.Since(begin).Microseconds()) / 1000
			return got, got.Response, err
		}),
	}}
}

// complete adds what follows from the cited passages.
func (r *responded) complete(a analyzer, request response) {
	r.Sources, r.Cited = []string{}, append([]int{}, r.Cited...)
	var cited []string
	for _, n := range r.Cited {
		p := request.Passages[n-1]
		cited = append(cited, p.Content, p.Metadata.Section, titleOf(p.Source))
		if !slices.Contains(r.Sources, p.Source) {
			r.Sources = append(r.Sources, p.Source)
		}
	}
	weights := make(map[string]float64)
	for _, t := range a.terms(request.Question) {
		weights[t.stem] = 1
	}
	r.Confidence = round(share(weights, a.stems(cited...)))
}

// maxSentences is the length of an extract.
const maxSentences = 3

// sentence is a part of a passage.
type sentence struct {
	text    string
	passage int // from 1
	has     map[string]bool
}

// extractAnswer quotes the sentences that together have most of the question's terms. It invents
// nothing.
func extractAnswer(a analyzer, r response) (got responded) {
	all, weights := weighed(a, r)
	covered := make(map[string]bool)
	var quotes []sentence
	for len(quotes) < maxSentences {
		best, most := -1, 0.0
		for i, s := range all {
			// What an earlier sentence has said counts for little.
			gain := 0.0
			fresh := false
			for stem := range s.has {
				if covered[stem] {
					gain += weights[stem] / 4
				} else {
					gain += weights[stem]
					fresh = true
				}
			}
			if gain > most && (fresh || len(quotes) == 0) {
				best, most = i, gain
			}
		}
		if best < 0 {
			break
		}
		for stem := range all[best].has {
			covered[stem] = true
		}
		quotes = append(quotes, all[best])
		all = slices.Delete(all, best, best+1)
	}
	if len(quotes) == 0 {
		// The terms are in the headings or in the path only: the beginning of the best passage is
		// what they announce.
		s := sentences(r.Passages[0].Content)
		if len(s) == 0 {
			return responded{Response: nothingFound}
		}
		quotes = append(quotes, sentence{text: s[0], passage: 1})
	}
	slices.SortStableFunc(quotes, func(x, y sentence) int { return cmp.Compare(x.passage, y.passage) })
	var text []string
	for _, q := range quotes {
		text = append(text, fmt.Sprintf("%s [%d]", q.text, q.passage))
		if !slices.Contains(got.Cited, q.passage) {
			got.Cited = append(got.Cited, q.passage)
		}
	}
	got.Response = strings.Join(text, "\n")
	return got
}

// weighed returns the sentences of the passages with the question's terms in them, and the weights
// of the terms: a rare one counts more.
func weighed(a analyzer, r response) (all []sentence, weights map[string]float64) {
	terms := a.terms(r.Question)
	weights = make(map[string]float64)
	for i, p := range r.Passages {
		for _, text := range sentences(p.Content) {
			stems := a.stems(text)
			s := sentence{text: text, passage: i + 1, has: make(map[string]bool)}
			for _, t := range terms {
				if stems[t.stem] {
					s.has[t.stem] = true
					weights[t.stem]++
				}
			}
			all = append(all, s)
		}
	}
	for stem, n := range weights {
		weights[stem] = math.Log(1 + float64(len(all)+1)/n)
	}
	return all, weights
}
