package codondoc

import (
	"fmt"
	"strings"
	"unicode"
)

// lowered returns a text with each heading one level lower.
func lowered(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if strings.HasPrefix(line, "#") && !code {
			b.WriteByte('#')
		}
		b.WriteString(line)
	}
	return b.String()
}

// link returns a link to a heading of a file, which is empty for the page itself.
func link(file, title string) string { return fmt.Sprintf("[%s](%s#%s)", title, file, anchor(title)) }

// anchor returns GitHub's anchor of a heading.
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

// cell returns a text for a cell of a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ReplaceAll(text, "|", `\|`)
}

// lines returns several texts for one cell.
func lines(texts []string) string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		cells[i] = cell(text)
	}
	return strings.Join(cells, "<br>")
}
