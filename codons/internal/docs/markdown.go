package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// split returns the documentation of a table in two parts, what it is and how it
// goes, as parts of a longer page. One without rows has only the first.
func split(t machine.Table) (head, parts string) {
	if len(t.Rows) == 0 {
		return fmt.Sprintf("%s\n\nName: `%s`. Source: %s.", t.Purpose, t.Name, t.Source), ""
	}
	text := nested(t.Markdown(), t.Title)
	if i := strings.Index(text, "\n### "); i >= 0 {
		return strings.TrimSpace(text[:i]), text[i:]
	}
	return strings.TrimSpace(text), ""
}

// nested returns a page of its own as a part of a section of that title. The
// headings name the title, so that each is one of a kind and a link to it stays
// good when codons are added.
func nested(page, title string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code {
			line = heading(line, title)
		}
		b.WriteString(line)
	}
	return b.String()
}

// heading returns a line as it is, or the heading in it one level lower.
func heading(line, title string) string {
	if text, ok := strings.CutPrefix(line, "## "); ok {
		return "### " + title + ": " + lowerFirst(text)
	}
	text, ok := strings.CutPrefix(line, "# ")
	switch {
	case !ok:
		return line
	case strings.TrimSpace(text) == title:
		return "" // it stands above already
	}
	return "### " + text
}

func lowerFirst(s string) string {
	for i, r := range s {
		return string(unicode.ToLower(r)) + s[i+len(string(r)):]
	}
	return s
}

// link refers to a heading of the page.
func link(title string) string { return fmt.Sprintf("[%s](#%s)", title, anchor(title)) }

// anchor is what GitHub calls a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// cell is text in a cell of a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ReplaceAll(text, "|", `\|`)
}

// lines are several texts in one cell.
func lines(texts []string) string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		cells[i] = cell(text)
	}
	return strings.Join(cells, "<br>")
}
