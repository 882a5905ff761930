package swarm

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 64 << 20

// kinds has the kind of document for each extension that is ingested.
var kinds = map[string]string{".md": "md", ".markdown": "md", ".txt": "txt", ".csv": "csv", ".pdf": "pdf"}

// kindOf returns the kind of a file, or "" for one that is not ingested.
func kindOf(name string) string { return kinds[strings.ToLower(filepath.Ext(name))] }

// extract returns the text of a document in parts, and the day that the document itself names as
// that of its last change; zero for none.
func extract(ctx context.Context, content []byte, kind string) (parts []part, changed time.Time, err error) {
	if kind == "pdf" {
		return extractPDF(ctx, content, pdfTime)
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return nil, changed, errors.New("it is not text in UTF-8")
	}
	switch kind {
	case "md":
		parts = markdownParts(content)
	case "csv":
		parts, err = csvParts(content)
	default:
		parts = textParts(string(content))
	}
	return parts, changed, err
}

// textParts divides a text into its paragraphs.
func textParts(content string) (parts []part) {
	var paragraph []string
	line := 0
	for text := range strings.Lines(content + "\n\n") {
		line++
		if text = strings.TrimSpace(text); text != "" {
			paragraph = append(paragraph, text)
		} else if len(paragraph) > 0 {
			parts = append(parts, part{Position{Line: line - len(paragraph)}, strings.Join(paragraph, "\n")})
			paragraph = nil
		}
	}
	return parts
}

// csvParts makes a part of each record, with the names of the first one: "month: May; revenue: 15".
func csvParts(content []byte) (parts []part, err error) {
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	r.Comma = delimiter(content)
	var header []string
	for {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil:
			return nil, err
		case header == nil:
			header = record
			continue
		}
		line, _ := r.FieldPos(0)
		header = append(header, make([]string, max(0, len(record)-len(header)))...)
		var fields []string
		for i, value := range record {
			fields = appendNamed(fields, header[i], value)
		}
		parts = append(parts, part{Position{Line: line}, strings.Join(fields, "; ")})
	}
}

// appendNamed appends a value with its name, "revenue: 15", if there is a value.
func appendNamed(fields []string, name, value string) []string {
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case value == "":
		return fields
	case name != "":
		value = name + ": " + value
	}
	return append(fields, value)
}

// delimiter returns the delimiter that the first line has most of: a comma, a semicolon or a tab.
func delimiter(content []byte) rune {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, r := range ";\t" {
		if n := bytes.Count(line, []byte(string(r))); n > most {
			best, most = r, n
		}
	}
	return best
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// markdownParts makes a part of each block of Markdown. Its section is the path of the headings
// above it.
func markdownParts(content []byte) (parts []part) {
	var headings []string                                                                                                    // by level
	_ = ast.Walk(markdown.Parser().Parse(text.NewReader(content)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			headings = append(headings[:min(n.Level-1, len(headings))], inline(n, content))
			return ast.WalkSkipChildren, nil
		case *ast.HTMLBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph, *ast.TextBlock, *ast.CodeBlock, *ast.FencedCodeBlock, *extast.TableRow:
			if t := blockText(n, content); t != "" {
				parts = append(parts, part{Position{Line: lineOf(n, content), Section: strings.Join(headings, " › ")}, t})
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return parts
}

// blockText returns the text of a block without its marks. That of a row of a table has the heading
// of its column before each cell.
func blockText(n ast.Node, content []byte) string {
	switch n := n.(type) {
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return strings.TrimSpace(string(n.Lines().Value(content)))
	case *extast.TableRow:
		var cells []string
		head := n.Parent().FirstChild().FirstChild() // each row has as many cells as the table has headings
		for c := n.FirstChild(); c != nil && head != nil; c, head = c.NextSibling(), head.NextSibling() {
			cells = appendNamed(cells, inline(head, content), inline(c, content))
		}
		return strings.Join(cells, "; ")
	}
	return inline(n, content)
}

// inline returns the text within a block.
func inline(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(content))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(content))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// lineOf returns the line on which a block begins, from 1; zero for one without text of its own.
func lineOf(n ast.Node, content []byte) int {
	for ; n != nil; n = n.FirstChild() {
		if t, ok := n.(*ast.Text); ok {
			return 1 + bytes.Count(content[:t.Segment.Start], []byte("\n"))
		}
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return 1 + bytes.Count(content[:n.Lines().At(0).Start], []byte("\n"))
		}
	}
	return 0
}
