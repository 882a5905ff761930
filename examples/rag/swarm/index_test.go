package swarm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testIndex returns an index of four documents.
func testIndex(t *testing.T) *index {
	t.Helper()
	x := newIndex()
	for i, text := range []string{"a/one.md", "a/two.pdf", "b/one.md", "ab.csv"} {
		kind := text[strings.LastIndexByte(text, '.')+1:]
		m := ingestion{ID: text, Kind: kind, Modified: time.Date(2024, time.Month(i+1), 31-i, 23, 0, 0, 0, time.UTC), Total: 1}
		m.Chunks = []Chunk{{ID: "1", Content: strings.Repeat("zebra ", i+1) + strings.Repeat("okay ", 3-i), Metadata: Position{Line: i + 1}}}
		x.add(m)
	}
	return x
}

func sources(hits []Hit) (s []string) {
	for _, h := range hits {
		s = append(s, h.Source)
	}
	return s
}

func TestFilters(t *testing.T) {
	x := testIndex(t)
	x.add(ingestion{ID: "may.txt", Modified: time.Date(2024, time.May, 1, 0, 0, 0, 0, time.UTC), Chunks: []Chunk{{Content: "zebra " + strings.Repeat("okay ", 9)}}})
	all := []string{"ab.csv", "b/one.md", "a/two.pdf", "a/one.md", "may.txt"} // the one with the most zebras first
	for name, test := range map[string]struct {
		filters Filters
		want    []string
	}{
		"none":            {Filters{}, all},
		"kind":            {Filters{Kinds: []string{"PDF", ".csv"}}, []string{"ab.csv", "a/two.pdf"}},
		"path":            {Filters{Files: []string{"a/one.md"}}, []string{"a/one.md"}},
		"name":            {Filters{Files: []string{"one.md"}}, []string{"b/one.md", "a/one.md"}},
		"prefix":          {Filters{Prefix: "a/"}, []string{"a/two.pdf", "a/one.md"}},
		"prefix and kind": {Filters{Prefix: "a", Kinds: []string{"csv", "md"}}, []string{"ab.csv", "a/one.md"}},
		"dates":           {Filters{Dates: []string{"2024-01-31", "2024-03-29"}}, []string{"b/one.md", "a/two.pdf", "a/one.md"}},
		"from midnight":   {Filters{Dates: []string{"2024-05-01", "2024-05-01"}}, []string{"may.txt"}},
		"until midnight":  {Filters{Dates: []string{"2024-04-29", "2024-04-30"}}, nil},
		"a day":           {Filters{Dates: []string{"2024-01-31", "2024-01-31"}}, []string{"a/one.md"}},
	} {
		got, err := x.search(Query{Text: "zebras", Filters: test.filters})
		if diff := cmp.Diff(test.want, sources(got.Hits)); err != nil || diff != "" || got.Total != len(test.want) || got.Searched != len(test.want) {
			t.Errorf("%s: %v %+v\n%s", name, err, got, diff)
		}
	}
}

func TestScores(t *testing.T) {
	x := testIndex(t)
	x.add(ingestion{ID: "lion.txt", Total: 1, Chunks: []Chunk{{ID: "1", Content: "A lion and a zebra."}}})
	got, err := x.search(Query{Text: "zebra, lion, okapi", Top: 2})
	if err != nil || len(got.Hits) != 2 || got.Total != 5 || got.Hits[0].Source != "lion.txt" || got.Hits[0].Score <= got.Hits[1].Score {
		t.Fatalf("%+v, %v", got, err)
	}
	best, next := got.Hits[0].Similarity, got.Hits[1].Similarity
	if best >= 1 || best <= next || next <= 0 || cmp.Diff(got.Missing, []string{"okapi"}) != "" {
		t.Errorf("%+v", got)
	}
	whole, _ := x.search(Query{Text: "zebra lion", Threshold: 0.99})
	if len(whole.Hits) != 1 || whole.Hits[0].Similarity != 1 || whole.Hits[0].ID != "lion.txt#1" {
		t.Errorf("%+v", whole)
	}
	x.add(ingestion{ID: "owl.txt", Chunks: []Chunk{{Content: "It sees.", Metadata: Position{Section: "Nights"}}}})
	if byHeading, _ := x.search(Query{Text: "night"}); len(byHeading.Hits) != 1 || byHeading.Hits[0].Source != "owl.txt" {
		t.Errorf("by the heading above it: %+v", byHeading)
	}
	if byTitle, _ := x.search(Query{Text: "two"}); len(byTitle.Hits) != 1 || byTitle.Hits[0].Source != "a/two.pdf" {
		t.Errorf("by its path: %+v", byTitle)
	}
}

// The chunks of a document add up, and the first ones replace those that were there. A document of
// a peer has an id that is not its name, and chunks without ids.
func TestDocumentInParts(t *testing.T) {
	x := testIndex(t)
	part := func(offset int, chunks ...Chunk) ingestion {
		return ingestion{ID: "doc_123", Name: "lions/report.pdf", Offset: offset, Chunks: chunks}
	}
	found := func(f Filters) (ids []string) {
		got, err := x.search(Query{Text: "lion", Filters: f})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got.Hits {
			ids = append(ids, h.ID+" "+h.Source)
		}
		return ids
	}
	for name, step := range map[string]struct {
		add  []ingestion
		want []string
	}{
		"in parts":        {[]ingestion{part(0, Chunk{Content: "a"}, Chunk{Content: "b"}), part(2, Chunk{Content: "c"})}, []string{"doc_123#1", "doc_123#2", "doc_123#3"}},
		"a part again":    {[]ingestion{part(0, Chunk{Content: "a"}), part(1, Chunk{Content: "b"}), part(1, Chunk{Content: "b"})}, []string{"doc_123#1", "doc_123#2"}},
		"another version": {[]ingestion{part(0, Chunk{ID: "x", Content: "a"}, Chunk{ID: "doc_123#y", Content: "b"}), part(0, Chunk{ID: "z", Content: "c"})}, []string{"doc_123#z"}},
		"removed":         {[]ingestion{part(0, Chunk{Content: "a"}), part(0)}, nil},
	} {
		for _, m := range step.add {
			x.add(m)
		}
		var want []string
		for _, id := range step.want {
			want = append(want, id+" lions/report.pdf")
		}
		for _, f := range []Filters{{}, {Kinds: []string{"pdf"}}, {Files: []string{"doc_123"}}, {Files: []string{"report.pdf"}}, {Prefix: "lions/"}} {
			if diff := cmp.Diff(want, found(f)); diff != "" {
				t.Errorf("%s, %+v:\n%s", name, f, diff)
			}
		}
		x.add(part(0))
	}
}

// The scores are those of the formula, computed by hand: of three chunks two have the term, once
// each. With their names they have 2, 4 and 3 terms. The weight is ln(1+(3+1)/(2+1)) = 0.847, and
// the scores are 0.847*2.2/(1+1.2*(0.25+0.75*2/3)) and 0.847*2.2/(1+1.2*(0.25+0.75*4/3)).
func TestBM25(t *testing.T) {
	x := newIndex()
	for id, text := range map[string]string{"1": "zebra", "2": "zebra lion wolf", "3": "lion wolf"} {
		x.add(ingestion{ID: id, Chunks: []Chunk{{ID: id, Content: text}}})
	}
	got, err := x.search(Query{Text: "the zebras"})
	want := []float64{0.981, 0.746}
	if err != nil || len(got.Hits) != 2 || got.Hits[0].Score != want[0] || got.Hits[1].Score != want[1] {
		t.Errorf("%+v, %v, want %v", got.Hits, err, want)
	}
}

// Hits of one score are in the order of their ids.
func TestEqualScores(t *testing.T) {
	x := newIndex()
	var want []string
	for i := range 50 {
		id := fmt.Sprintf("%02d", i)
		x.add(ingestion{ID: id, Name: "x", Chunks: []Chunk{{Content: "zebra"}}})
		want = append(want, id+"#1")
	}
	got, err := x.search(Query{Text: "zebra", Top: MaxTop})
	var ids []string
	for _, h := range got.Hits {
		ids = append(ids, h.ID)
	}
	if diff := cmp.Diff(want, ids); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"The refunds, the Refund's and a refunding": "refund", "8.5% of 1,200 users": "8.5 1,200 user", "Ana’s café — naïve": "ana café naïv",
		"What's up with Ana's": "ana", "don't x-ray sales_report.pdf": "don't x ray sale report pdf", "what is it": "", "деньги 東京": "деньги 東京",
	} {
		var got []string
		for _, term := range terms(text) {
			got = append(got, term.stem)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", text, got, want)
		}
	}
}
