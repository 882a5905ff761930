package swarm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pdfOf makes a PDF of pages with a content stream each.
func pdfOf(pages []string) string {
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(pages)),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	for i, content := range pages {
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	out, table := "%PDF-1.4\n", fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(out))
		out += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return out + table + fmt.Sprintf("trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, len(out))
}

func TestExtract(t *testing.T) {
	for name, test := range map[string]struct {
		kind, content string
		want          []part
	}{
		"text":    {"txt", "\ufeffOne\ntwo\r\n\n\n three \n", []part{{Position{Line: 1}, "One\ntwo"}, {Position{Line: 5}, "three"}}},
		"records": {"csv", "name,age,\nAna,7,x,y\n\nBo,,\n", []part{{Position{Line: 2}, "name: Ana; age: 7; x; y"}, {Position{Line: 4}, "name: Bo"}}},
		"semicolons": {"csv", "name;price\n\"a\nb\";1,5\nc;2", []part{
			{Position{Line: 2}, "name: a\nb; price: 1,5"}, {Position{Line: 4}, "name: c; price: 2"},
		}},
		"markdown": {
			"md", "intro **bold** `code` [link](http://x)\nwrapped\n# A\n\ntext\n\n## B\n- one\n- two\n\n```go\nx := 1\n```\n# C\n\n<b>html</b>\n\n| k | v |\n|---|---|\n| a | 1 |\n",
			[]part{
				{Position{Line: 1}, "intro bold code link\nwrapped"},
				{Position{Line: 5, Section: "A"}, "text"},
				{Position{Line: 8, Section: "A › B"}, "one"},
				{Position{Line: 9, Section: "A › B"}, "two"},
				{Position{Line: 12, Section: "A › B"}, "x := 1"},
				{Position{Line: 16, Section: "C"}, "html"},
				{Position{Line: 20, Section: "C"}, "k: a; v: 1"},
			},
		},
		"pdf": {
			"pdf", pdfOf([]string{
				"BT /F1 12 Tf 0 700 Td (One \\(1\\)) Tj 0 -14 Td [(t) 20 (wo) -300 (words)] TJ 50 0 Td (caf\xe9) Tj ET",
				"BT /F1 12 Tf 1 0 0 1 0 700 Tm (three) Tj 1 0 0 1 60 700 Tm ( more) Tj 1 0 0 1 0 600 Tm (four) Tj T* T* (five) Tj (six) ' ET",
			}),
			[]part{{Position{Page: 1}, "One (1)\ntwo words café"}, {Position{Page: 2}, "three more\nfour"}, {Position{Page: 2}, "five\nsix"}},
		},
	} {
		got, _, err := extract(t.Context(), []byte(test.content), test.kind)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(part{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestPDFChild(t *testing.T) {
	good := pdfOf([]string{"BT /F1 12 Tf (text) Tj ET"})
	if _, _, err := extractPDF(t.Context(), []byte(good), time.Nanosecond); err == nil || !strings.Contains(err.Error(), "takes longer than 1ns") {
		t.Errorf("too slow: %v", err)
	}
	cause := errors.New("withdrawn")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, _, err := extractPDF(ctx, []byte(good), time.Minute); !errors.Is(err, cause) {
		t.Errorf("withdrawn: %v", err)
	}
	long := pdfOf([]string{"BT /F1 12 Tf (" + strings.Repeat("text ", pdfText/5) + ") Tj ET", "BT /F1 12 Tf (text) Tj ET"})
	if _, _, err := extractPDF(t.Context(), []byte(long), time.Minute); err == nil || !strings.Contains(err.Error(), "it has more than 16 MiB of text") {
		t.Errorf("too long: %v", err)
	}
	readsPDFs = false
	if _, _, err := extractPDF(t.Context(), []byte(good), time.Minute); err == nil || !strings.Contains(err.Error(), "its main function does not call ReadPDFs") {
		t.Errorf("a child without a reader: %v", err)
	}
	readsPDFs = true
	for name, content := range map[string]string{
		"empty": "", "not a PDF": "%PDF-1.4\nno", "cut": good[:len(good)/2], "bad operators": pdfOf([]string{"BT /F1 12 Tf (text Tj >> ] ET"}),
		"a page that is its own parent": strings.Replace(good, "/Parent 2 0 R", "/Parent 4 0 R", 1),
	} {
		got, _, err := extractPDF(t.Context(), []byte(content), time.Minute)
		if err == nil && len(got) == 0 || err != nil && !strings.Contains(err.Error(), "PDF") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// The day of a PDF is that of its last change, in its own time zone, else that of its creation.
func TestPDFDay(t *testing.T) {
	day := time.Date(2024, 3, 28, 0, 0, 0, 0, time.UTC)
	plain := pdfOf([]string{"BT /F1 12 Tf (text) Tj ET"})
	for name, test := range map[string]struct {
		info string
		want time.Time
	}{
		"changed": {"/CreationDate (D:20240101) /ModDate (D:20240328233000-08'00')", day},
		"created": {"/CreationDate (20240328)", day},
		"a month": {"/ModDate (D:202403)", day.AddDate(0, 0, -27)},
		"no date": {"/ModDate (yesterday)", time.Time{}},
		"nothing": {"", time.Time{}},
	} {
		content := strings.Replace(plain, "/Root", "/Info << "+test.info+" >> /Root", 1)
		if _, got, err := extractPDF(t.Context(), []byte(content), time.Minute); err != nil || !got.Equal(test.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, test.want)
		}
	}
}

func TestChunks(t *testing.T) {
	long := strings.Repeat("A sentence of words. ", 100)
	got := chunked("d", []part{
		{Position{Line: 1, Section: "A"}, "one"},
		{Position{Line: 3, Section: "A"}, "two"},
		{Position{Line: 5, Section: "B"}, "three"},
		{Position{Line: 9, Section: "B"}, long},
		{Position{Page: 2}, strings.Repeat("x", 2*chunkRunes)},
	})
	if got[0].ID != "d#1" || got[0].Content != "one\n\ntwo" || got[0].Metadata != (Position{Line: 1, Section: "A"}) || got[1].Content != "three" || got[1].Metadata.Line != 5 {
		t.Errorf("%+v", got[:2])
	}
	var text string
	for _, c := range got[2:5] {
		if n := len(c.Content); n > chunkRunes || !strings.HasSuffix(c.Content, ".") {
			t.Errorf("%d: %q", n, c.Content)
		}
		text += c.Content + " "
	}
	if text != long || len(got) != 7 || got[5].Content != got[6].Content || got[6].Metadata.Page != 2 {
		t.Errorf("%d chunks, %q", len(got), text)
	}
}

func TestSentences(t *testing.T) {
	got := sentences("One is e.g. this\nwrapped. Two? \nThree:\n- four\n- five goes\n  on\n\nplan: x\n\nplan: y")
	want := []string{"One is e.g. this wrapped.", "Two?", "Three:", "- four", "- five goes on", "plan: x", "plan: y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
