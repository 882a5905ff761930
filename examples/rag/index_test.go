package main

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
	x, err := openIndex("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.close(); err != nil {
			t.Error(err)
		}
	})
	for i, text := range []string{"a/one.md", "a/two.pdf", "b/one.md", "ab.csv"} {
		kind := text[strings.LastIndexByte(text, '.')+1:]
		m := ingestion{ID: text, Kind: kind, Modified: time.Date(2024, time.Month(i+1), 31-i, 23, 0, 0, 0, time.UTC), Fingerprint: "f", Total: 1}
		m.Chunks = []chunk{{ID: "1", Content: strings.Repeat("zebra ", i+1) + strings.Repeat("okay ", 3-i), Metadata: position{Line: i + 1}}}
		if err := x.add(m); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func sources(hits []hit) (s []string) {
	for _, h := range hits {
		s = append(s, h.Source)
	}
	return s
}

func TestFilters(t *testing.T) {
	x := testIndex(t)
	all := []string{"ab.csv", "b/one.md", "a/two.pdf", "a/one.md"} // the one with the most zebras first
	for name, test := range map[string]struct {
		filters filters
		want    []string
	}{
		"none":            {filters{}, all},
		"kind":            {filters{Kinds: []string{"PDF", ".csv"}}, []string{"ab.csv", "a/two.pdf"}},
		"path":            {filters{Files: []string{"a/one.md"}}, []string{"a/one.md"}},
		"name":            {filters{Files: []string{"one.md"}}, []string{"b/one.md", "a/one.md"}},
		"prefix":          {filters{Prefix: "a/"}, []string{"a/two.pdf", "a/one.md"}},
		"prefix and kind": {filters{Prefix: "a", Kinds: []string{"csv", "md"}}, []string{"ab.csv", "a/one.md"}},
		"dates":           {filters{Dates: []string{"2024-01-31", "2024-03-29"}}, []string{"b/one.md", "a/two.pdf", "a/one.md"}},
		"a day":           {filters{Dates: []string{"2024-01-31", "2024-01-31"}}, []string{"a/one.md"}},
	} {
		got, err := x.search(t.Context(), retrieval{Query: "zebras", Filters: test.filters})
		if diff := cmp.Diff(test.want, sources(got.Hits)); err != nil || diff != "" || got.Total != len(test.want) || got.Searched != len(test.want) {
			t.Errorf("%s: %v %+v\n%s", name, err, got, diff)
		}
	}
}

func TestScores(t *testing.T) {
	x := testIndex(t)
	if err := x.add(ingestion{ID: "lion.txt", Total: 1, Chunks: []chunk{{ID: "1", Content: "A lion and a zebra."}}}); err != nil {
		t.Fatal(err)
	}
	got, err := x.search(t.Context(), retrieval{Query: "zebra, lion, okapi", Top: 2})
	if err != nil || len(got.Hits) != 2 || got.Total != 5 || got.Hits[0].Source != "lion.txt" || got.Hits[0].Score <= got.Hits[1].Score {
		t.Fatalf("%+v, %v", got, err)
	}
	best, next := got.Hits[0].Similarity, got.Hits[1].Similarity
	if best >= 1 || best <= next || next <= 0 || cmp.Diff(got.Missing, []string{"okapi"}) != "" {
		t.Errorf("%+v", got)
	}
	whole, _ := x.search(t.Context(), retrieval{Query: "zebra lion", Threshold: 0.99})
	if len(whole.Hits) != 1 || whole.Hits[0].Similarity != 1 || whole.Hits[0].ID != "lion.txt#1" {
		t.Errorf("%+v", whole)
	}
	if byTitle, _ := x.search(t.Context(), retrieval{Query: "two"}); len(byTitle.Hits) != 1 || byTitle.Hits[0].Source != "a/two.pdf" {
		t.Errorf("by its path: %+v", byTitle)
	}
}

func TestDocumentInParts(t *testing.T) {
	x := testIndex(t)
	part := func(offset, total int) ingestion {
		return ingestion{ID: "p", Fingerprint: "f2", Offset: offset, Total: total, Chunks: []chunk{{ID: fmt.Sprintf("p#%d", offset), Content: "gnu"}}}
	}
	fingerprint := func() string {
		all, err := x.documents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all["p"]
	}
	for i := range 3 {
		if err := x.add(part(i, 3)); err != nil {
			t.Fatal(err)
		}
		if complete := fingerprint() == "f2"; complete != (i == 2) {
			t.Errorf("after %d parts: complete is %t", i+1, complete)
		}
	}
	found := func() int {
		got, err := x.search(t.Context(), retrieval{Query: "gnu"})
		if err != nil {
			t.Fatal(err)
		}
		return got.Total
	}
	if n := found(); n != 3 {
		t.Errorf("%d chunks", n)
	}
	if err := x.add(part(0, 1)); err != nil || found() != 1 {
		t.Errorf("replaced: %d chunks, %v", found(), err)
	}
	if err := x.remove([]string{"p"}); err != nil || found() != 0 || fingerprint() != "" {
		t.Errorf("removed: %d chunks, %v", found(), err)
	}
}
