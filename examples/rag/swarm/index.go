package swarm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
)

// The parameters of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and
// Beyond, 2009): how soon further occurrences of a term count for little, and how much a chunk's
// length counts against it.
const (
	k1 = 1.2
	b  = 0.75
)

// index has the chunks of all documents in memory. Its methods may be called from any goroutine.
type index struct {
	mu     sync.RWMutex
	chunks map[string]*entry // by their ids
}

// entry is a chunk of the index. It does not change.
type entry struct {
	Hit      // without its scores
	document string
	kind     string
	modified time.Time
	terms    map[string]int // how often each is in the content, in the headings above it and in the path
	length   int            // of all terms
}

func newIndex() *index { return &index{chunks: make(map[string]*entry)} }

// newRetrievalAgent returns the agent that has the index.
func newRetrievalAgent(x *index) actors.Agent {
	return worker{"retrieval", map[string]task{
		taskIngestion: performs("Indexes chunks of a document.", func(_ context.Context, _ delegation.Task, m ingestion) (any, string, error) {
			x.add(m)
			return map[string]any{"document_id": m.ID, "chunks_indexed": len(m.Chunks)}, fmt.Sprintf("%d chunks of %s indexed", len(m.Chunks), m.ID), nil
		}),
		taskRetrieval: performs("Searches the index for a question.", func(_ context.Context, _ delegation.Task, q Query) (any, string, error) {
			found, err := x.search(q)
			return found, fmt.Sprintf("%d chunks found", len(found.Hits)), err
		}),
	}}
}

// add indexes chunks of a document: see [ingestion].
func (x *index) add(m ingestion) {
	source := cmp.Or(m.Name, m.ID)
	kind := strings.ToLower(cmp.Or(m.Kind, strings.TrimPrefix(path.Ext(source), ".")))
	fresh := make(map[string]*entry)
	for i, c := range m.Chunks {
		// Others leave the id out, or have no document in it.
		c.ID = m.ID + "#" + strings.TrimPrefix(cmp.Or(c.ID, strconv.Itoa(m.Offset+i+1)), m.ID+"#")
		e := &entry{Hit: Hit{Chunk: c, Source: source}, document: m.ID, kind: kind, modified: m.Modified, terms: count(c.Content, c.Metadata.Section, titleOf(source))}
		for _, n := range e.terms {
			e.length += n
		}
		fresh[c.ID] = e
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.Offset == 0 {
		maps.DeleteFunc(x.chunks, func(_ string, e *entry) bool { return e.document == m.ID })
	}
	maps.Copy(x.chunks, fresh)
}

// titleOf returns a path without the ending of the name: its words are terms, too.
func titleOf(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// search returns the chunks that fit a question best.
func (x *index) search(q Query) (Retrieved, error) {
	begin := time.Now()
	found := Retrieved{Query: q.Text, Hits: []Hit{}, Missing: []string{}}
	searched, err := x.filtered(q.Filters)
	if err != nil {
		return found, err
	}
	found.Searched = len(searched)
	asked := terms(q.Text)
	weights := make(map[string]float64) // by how rare a term is; one that all chunks have counts, too
	for _, t := range asked {
		n := 0
		for _, e := range searched {
			n += min(e.terms[t.stem], 1)
		}
		if n == 0 {
			found.Missing = append(found.Missing, t.word)
		}
		weights[t.stem] = math.Log(1 + float64(len(searched)+1)/float64(n+1))
	}
	length := 0
	for _, e := range searched {
		length += e.length
	}
	average := float64(length) / float64(len(searched))
	for _, e := range searched {
		h := e.Hit
		for _, t := range asked {
			if n := float64(e.terms[t.stem]); n > 0 {
				h.Score += weights[t.stem] * n * (k1 + 1) / (n + k1*(1-b+b*float64(e.length)/average))
			}
		}
		if h.Score == 0 {
			continue
		}
		found.Total++
		h.Score = round(h.Score)
		if h.Similarity = round(share(weights, e.terms)); h.Similarity >= q.Threshold {
			found.Hits = append(found.Hits, h)
		}
	}
	slices.SortFunc(found.Hits, func(x, y Hit) int { return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.ID, y.ID)) })
	found.Hits = found.Hits[:min(len(found.Hits), cmp.Or(q.Top, DefaultTop))]
	found.Millis = millisSince(begin)
	return found, nil
}

// filtered returns the chunks that pass the filters.
func (x *index) filtered(f Filters) (all []*entry, err error) {
	days, err := f.days()
	if err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, e := range x.chunks {
		kind := func(kind string) bool { return strings.EqualFold(strings.TrimPrefix(kind, "."), e.kind) }
		file := func(name string) bool { return name == e.Source || name == path.Base(e.Source) || name == e.document }
		if (len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, kind)) && (len(f.Files) == 0 || slices.ContainsFunc(f.Files, file)) &&
			strings.HasPrefix(e.Source, f.Prefix) && (len(f.Dates) == 0 || !e.modified.Before(days[0]) && e.modified.Before(days[1])) {
			all = append(all, e)
		}
	}
	return all, nil
}

// share returns which part of the weights the terms in a text have, from 0 to 1.
func share(weights map[string]float64, has map[string]int) float64 {
	var sum, all float64
	for stem, w := range weights {
		all += w
		if has[stem] > 0 {
			sum += w
		}
	}
	return sum / cmp.Or(all, 1)
}

// round rounds to three digits behind the point.
func round(f float64) float64 { return math.Round(f*1000) / 1000 }

func millisSince(begin time.Time) float64 { return float64(time.Since(begin).Microseconds()) / 1000 }
