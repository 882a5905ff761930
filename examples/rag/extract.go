package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
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
// that of its last change; zero for none. The reader is at the beginning of f.
func extract(ctx context.Context, f *os.File, kind string) (parts []part, changed time.Time, err error) {
	if kind == "pdf" {
		return extractPDF(ctx, f)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, changed, err
	case len(content) > maxFile:
		return nil, changed, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
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
	line, fresh := 0, true
	for text := range strings.Lines(content) {
		line++
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			fresh = true
		case fresh:
			parts = append(parts, part{position{Line: line}, text})
			fresh = false
		default:
			parts[len(parts)-1].text += "\n" + text
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
		var fields []string
		for i, value := range record {
			if value = strings.TrimSpace(value); value == "" {
				continue
			}
			if i < len(header) && header[i] != "" {
				value = strings.TrimSpace(header[i]) + ": " + value
			}
			fields = append(fields, value)
		}
		parts = append(parts, part{position{Line: line}, strings.Join(fields, "; ")})
	}
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
				parts = append(parts, part{position{Line: lineOf(n, content), Section: strings.Join(headings, " › ")}, t})
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return parts
}

// blockText returns the text of a block without its marks.
func blockText(n ast.Node, content []byte) string {
	switch n := n.(type) {
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return strings.TrimSpace(string(n.Lines().Value(content)))
	case *extast.TableRow:
		return rowText(n, content)
	}
	return inline(n, content)
}

// rowText returns the cells of a row of a table, each with the heading of its column.
func rowText(row *extast.TableRow, content []byte) string {
	var cells []string
	head, _ := row.Parent().FirstChild().(*extast.TableHeader)
	var name ast.Node
	if head != nil {
		name = head.FirstChild()
	}
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		cell := inline(c, content)
		if name != nil {
			if h := inline(name, content); h != "" && cell != "" {
				cell = h + ": " + cell
			}
			name = name.NextSibling()
		}
		if cell != "" {
			cells = append(cells, cell)
		}
	}
	return strings.Join(cells, "; ")
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
