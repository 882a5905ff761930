package swarm

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

// NothingFound is the response when the passages do not say anything about the question.
const NothingFound = "The documents say nothing about this."

// newResponseAgent returns the agent that answers from passages: by an extract, or by a language
// model if there is one.
func newResponseAgent(m *Model) actors.Agent {
	return worker{"question answering", map[string]task{
		taskResponse: performs("Answers a question from passages, which it cites by number.", func(ctx context.Context, _ delegation.Task, r response) (any, string, error) {
			begin, got := time.Now(), extractAnswer(r)
			var err error
			if m != nil && len(r.Passages) > 0 {
				got, err = m.answer(ctx, r)
			}
			got.complete(r)
			got.Millis = millisSince(begin)
			return got, got.Response, err
		}),
	}}
}

// complete adds what follows from the cited passages.
func (r *Responded) complete(request response) {
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
	for _, t := range terms(request.Question) {
		weights[t.stem] = 1
	}
	r.Confidence = round(share(weights, count(cited...)))
}

// maxSentences is the length of an extract.
const maxSentences = 3

// sentence is a part of a passage.
type sentence struct {
	text    string
	passage int      // from 1
	has     []string // the question's terms
}

// extractAnswer quotes the sentences that together have most of the question's terms. It invents
// nothing.
func extractAnswer(r response) (got Responded) {
	all, weights := weighed(r)
	gain := func(s sentence) (sum float64) {
		for _, stem := range s.has {
			sum += weights[stem]
		}
		return sum
	}
	var quotes []sentence
	for len(quotes) < maxSentences && len(all) > 0 {
		best := slices.MaxFunc(all, func(x, y sentence) int { return cmp.Compare(gain(x), gain(y)) })
		if gain(best) == 0 {
			break
		}
		quotes = append(quotes, best)
		for _, stem := range best.has { // what it says counts no more
			delete(weights, stem)
		}
	}
	switch {
	case len(all) == 0:
		return Responded{Response: NothingFound}
	case len(quotes) == 0:
		quotes = all[:1] // the terms are in the headings or in the path, which announce it
	}
	slices.SortStableFunc(quotes, func(x, y sentence) int { return cmp.Compare(x.passage, y.passage) })
	var text []string
	for _, q := range quotes {
		text = append(text, fmt.Sprintf("%s [%d]", q.text, q.passage))
		got.Cited = append(got.Cited, q.passage)
	}
	got.Response, got.Cited = strings.Join(text, "\n"), slices.Compact(got.Cited)
	return got
}

// weighed returns the sentences of the passages with the question's terms in them, and the weights
// of the terms: a rare one counts more.
func weighed(r response) (all []sentence, weights map[string]float64) {
	weights = make(map[string]float64)
	for i, p := range r.Passages {
		for _, text := range sentences(p.Content) {
			s, stems := sentence{text: text, passage: i + 1}, count(text)
			for _, t := range terms(r.Question) {
				if stems[t.stem] > 0 {
					s.has = append(s.has, t.stem)
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
