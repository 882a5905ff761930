package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
)

// The fields of the index. A chunk is an entry with the id of the chunk. A document is one with the
// id "document:" and its path.
const (
	fieldRecord   = "record" // recordChunk or recordDocument
	fieldContent  = "content"
	fieldSection  = "section"
	fieldTitle    = "title" // the words of the path
	fieldPath     = "path"
	fieldName     = "name"
	fieldKind     = "kind"
	fieldModified = "modified"
	fieldLine     = "line"
	fieldPage     = "page"

	fieldFingerprint = "fingerprint"
	fieldChunks      = "chunks"

	recordChunk    = "chunk"
	recordDocument = "document"
)

// index is the search library's index of chunks, in memory or on disk. Its methods may be called
// from any goroutine.
type index struct {
	analyzer

	writing sync.Mutex // a document is read and replaced
	bleve   bleve.Index
}

// openIndex opens the index in a folder, and creates it if there is none. Without a folder the
// index is in memory.
func openIndex(folder string) (*index, error) {
	m := indexMapping()
	if folder == "" {
		b, err := bleve.NewMemOnly(m)
		return &index{analyzer: newAnalyzer(m), bleve: b}, err
	}
	// An index that another process has open is an error at once, and not after it has gone.
	b, err := bleve.OpenUsing(folder, map[string]any{"bolt_timeout": "1s"})
	if errors.Is(err, bleve.ErrorIndexPathDoesNotExist) {
		b, err = bleve.New(folder, m)
	}
	if err != nil {
		return nil, fmt.Errorf("the index %s: %w; name a folder that is an index or does not exist, and that no other program has open", folder, err)
	}
	return &index{analyzer: newAnalyzer(m), bleve: b}, nil
}

func indexMapping() mapping.IndexMapping {
	words := bleve.NewTextFieldMapping()
	words.Analyzer = language
	words.IncludeInAll = false
	exact, number, date := bleve.NewKeywordFieldMapping(), bleve.NewNumericFieldMapping(), bleve.NewDateTimeFieldMapping()
	d := bleve.NewDocumentStaticMapping()
	for _, f := range []string{fieldContent, fieldSection, fieldTitle} {
		d.AddFieldMappingsAt(f, words)
	}
	for _, f := range []string{fieldRecord, fieldPath, fieldName, fieldKind, fieldFingerprint} {
		d.AddFieldMappingsAt(f, exact)
	}
	for _, f := range []string{fieldLine, fieldPage, fieldChunks} {
		d.AddFieldMappingsAt(f, number)
	}
	d.AddFieldMappingsAt(fieldModified, date)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = d
	m.DefaultAnalyzer = language
	return m
}

func (x *index) close() error { return x.bleve.Close() }

// add indexes chunks of a document: see [ingestion].
func (x *index) add(m ingestion) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	batch := x.bleve.NewBatch()
	if m.Offset == 0 {
		if err := x.drop(batch, m.ID); err != nil {
			return err
		}
	}
	for _, c := range m.Chunks {
		entry := map[string]any{
			fieldRecord: recordChunk, fieldContent: c.Content, fieldSection: c.Metadata.Section, fieldTitle: titleOf(m.ID),
			fieldPath: m.ID, fieldName: path.Base(m.ID), fieldKind: strings.ToLower(m.Kind),
			fieldLine: float64(c.Metadata.Line), fieldPage: float64(c.Metadata.Page),
		}
		if !m.Modified.IsZero() {
			entry[fieldModified] = m.Modified
		}
		if err := batch.Index(chunkID(m.ID, c), entry); err != nil {
			return err
		}
	}
	done := m.Offset + len(m.Chunks)
	record := map[string]any{fieldRecord: recordDocument, fieldPath: m.ID, fieldChunks: float64(done)}
	if done >= m.Total { // all is there
		record[fieldFingerprint] = m.Fingerprint
	}
	if err := batch.Index(documentID(m.ID), record); err != nil {
		return err
	}
	return x.bleve.Batch(batch)
}

// titleOf returns the words of a path.
func titleOf(id string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("/_-.", r) {
			return ' '
		}
		return r
	}, strings.TrimSuffix(id, path.Ext(id)))
}

func documentID(id string) string { return "document:" + id }

// chunkID returns the id of a chunk, which has that of its document in front: other peers may not
// write it so.
func chunkID(document string, c chunk) string {
	return document + "#" + strings.TrimPrefix(c.ID, document+"#")
}

// drop adds the removal of a document to a batch.
func (x *index) drop(batch *bleve.Batch, id string) error {
	all := bleve.NewTermQuery(id)
	all.SetField(fieldPath)
	count, err := x.bleve.DocCount()
	if err != nil {
		return err
	}
	found, err := x.bleve.Search(bleve.NewSearchRequestOptions(all, int(count), 0, false)) //nolint:gosec // an index has fewer than 2^63 entries
	if err != nil {
		return err
	}
	for _, h := range found.Hits {
		batch.Delete(h.ID)
	}
	return nil
}

// remove removes documents.
func (x *index) remove(ids []string) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	batch := x.bleve.NewBatch()
	for _, id := range ids {
		if err := x.drop(batch, id); err != nil {
			return err
		}
	}
	return x.bleve.Batch(batch)
}

// documents returns the fingerprints of the documents by their ids. That of a document of which
// chunks are missing is empty.
func (x *index) documents(ctx context.Context) (map[string]string, error) {
	count, err := x.bleve.DocCount()
	if err != nil {
		return nil, err
	}
	r := bleve.NewSearchRequestOptions(exactly(fieldRecord, recordDocument), int(count), 0, false) //nolint:gosec // an index has fewer than 2^63 entries
	r.Fields = []string{fieldPath, fieldFingerprint}
	found, err := x.bleve.SearchInContext(ctx, r)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(found.Hits))
	for _, h := range found.Hits {
		id, _ := h.Fields[fieldPath].(string)
		all[id], _ = h.Fields[fieldFingerprint].(string)
	}
	return all, nil
}

// search returns the chunks that fit a question best.
func (x *index) search(ctx context.Context, m retrieval) (retrieved, error) {
	begin := time.Now()
	found := retrieved{Query: m.Query, Hits: []hit{}, Missing: []string{}}
	restrict, err := restriction(m.Filters)
	if err != nil {
		return found, err
	}
	if found.Searched, err = x.count(ctx, restrict); err != nil {
		return found, err
	}
	terms := x.terms(m.Query)
	weights := make(map[string]float64, len(terms))
	for _, t := range terms {
		n, err := x.count(ctx, restrict, anywhere(t.stem))
		if err != nil {
			return found, err
		}
		if n == 0 {
			found.Missing = append(found.Missing, t.word)
		}
		weights[t.stem] = math.Log(1 + (float64(found.Searched)+1)/(float64(n)+1))
	}
	if err := x.rank(ctx, m, restrict, terms, weights, &found); err != nil {
		return found, err
	}
	found.Millis = float64(time.Since(begin).Microseconds()) / 1000
	return found, nil
}

// rank searches for the terms, and adds the best hits.
func (x *index) rank(ctx context.Context, m retrieval, restrict query.Query, terms []term, weights map[string]float64, found *retrieved) error {
	if len(terms) == 0 {
		return nil
	}
	var any []query.Query
	for _, t := range terms {
		any = append(any, anywhere(t.stem))
	}
	size := m.Top
	if size == 0 {
		size = defaultTop
	}
	r := bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(restrict, bleve.NewDisjunctionQuery(any...)), size, 0, false)
	r.Fields = []string{"*"}
	r.SortBy([]string{"-_score", "_id"})
	result, err := x.bleve.SearchInContext(ctx, r)
	if err != nil {
		return err
	}
	found.Total = int(result.Total) //nolint:gosec // an index has fewer than 2^63 entries
	for _, h := range result.Hits {
		got := hitOf(h.ID, h.Fields)
		got.Score = round(h.Score)
		got.Similarity = round(share(weights, x.stems(got.Content, got.Metadata.Section, titleOf(got.Source))))
		if got.Similarity >= m.Threshold {
			found.Hits = append(found.Hits, got)
		}
	}
	return nil
}

func hitOf(id string, fields map[string]any) (h hit) {
	h.ID = id
	h.Content, _ = fields[fieldContent].(string)
	h.Source, _ = fields[fieldPath].(string)
	h.Metadata.Section, _ = fields[fieldSection].(string)
	line, _ := fields[fieldLine].(float64)
	page, _ := fields[fieldPage].(float64)
	h.Metadata.Line, h.Metadata.Page = int(line), int(page)
	return h
}

// share returns which part of the weights the terms in a text have, from 0 to 1.
func share(weights map[string]float64, has map[string]bool) float64 {
	var sum, all float64
	for stem, w := range weights {
		all += w
		if has[stem] {
			sum += w
		}
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// round rounds to three digits behind the point.
func round(f float64) float64 { return math.Round(f*1000) / 1000 }

// count returns how many chunks all queries find.
func (x *index) count(ctx context.Context, queries ...query.Query) (int, error) {
	r, err := x.bleve.SearchInContext(ctx, bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(queries...), 0, 0, false))
	if err != nil {
		return 0, err
	}
	return int(r.Total), nil //nolint:gosec // an index has fewer than 2^63 entries
}

// anywhere finds a term in the content of a chunk, in the headings above it and in its path.
func anywhere(stem string) query.Query {
	var any []query.Query
	for _, field := range []string{fieldContent, fieldSection, fieldTitle} {
		q := bleve.NewTermQuery(stem)
		q.SetField(field)
		any = append(any, q)
	}
	return bleve.NewDisjunctionQuery(any...)
}

// restriction finds all chunks that the filters allow, and adds nothing to their scores.
func restriction(f filters) (query.Query, error) {
	all := []query.Query{exactly(fieldRecord, recordChunk)}
	if len(f.Kinds) > 0 {
		var any []query.Query
		for _, kind := range f.Kinds {
			any = append(any, exactly(fieldKind, strings.ToLower(strings.TrimPrefix(kind, "."))))
		}
		all = append(all, bleve.NewDisjunctionQuery(any...))
	}
	if len(f.Files) > 0 {
		var any []query.Query
		for _, file := range f.Files {
			any = append(any, exactly(fieldPath, file), exactly(fieldName, file))
		}
		all = append(all, bleve.NewDisjunctionQuery(any...))
	}
	if f.Prefix != "" {
		q := bleve.NewPrefixQuery(f.Prefix)
		q.SetField(fieldPath)
		q.SetBoost(0)
		all = append(all, q)
	}
	days, err := f.days()
	if err != nil {
		return nil, err
	}
	if len(f.Dates) > 0 {
		q := bleve.NewDateRangeQuery(days[0], days[1])
		q.SetField(fieldModified)
		q.SetBoost(0)
		all = append(all, q)
	}
	return bleve.NewConjunctionQuery(all...), nil
}

// exactly finds a value of a field, without a score.
func exactly(field, value string) query.Query {
	q := bleve.NewTermQuery(value)
	q.SetField(field)
	q.SetBoost(0)
	return q
}
