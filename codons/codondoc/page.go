package codondoc

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

// page is the text of one file.
type page struct {
	strings.Builder
	src    *sources
	types  *types
	titles map[string]string // of the codons that have a page in the same folder, by their names
}

// codon writes the page about one codon.
func (p *page) codon(c *codons.Codon) error {
	head, parts, err := split(c.Table)
	if err != nil {
		return err
	}
	p.WriteString(head + "\n")
	p.uses(c)
	if err := p.example(c); err != nil {
		return err
	}
	if err := p.usage(c); err != nil {
		return err
	}
	if c.Coordination != nil {
		p.WriteString("\n" + lowered(c.Coordination.Markdown()))
	}
	if parts == "" {
		return nil
	}
	parts = named(c, parts)
	conversation, tables := "", parts
	if i := strings.Index(parts, "\n## The "); i > 0 {
		conversation, tables = parts[:i], parts[i:]
	}
	p.WriteString(conversation + "\n## The tables\n\n<details>\n<summary>Each state, event and end of both sides</summary>\n" + lowered(tables))
	failures := &page{}
	failures.failures(c)
	p.WriteString(named(c, failures.String()) + "\n</details>\n")
	return nil
}

// uses writes the codons that a codon is made of, with a diagram, and what ends the whole.
func (p *page) uses(c *codons.Codon) {
	if len(c.Uses) == 0 {
		return
	}
	p.WriteString("\n## Made of\n\n| codon | conversation |\n|---|---|\n")
	for _, use := range c.Uses {
		name := "`" + use.Codon + "`"
		if title, ok := p.titles[use.Codon]; ok {
			name = fmt.Sprintf("[%s](%s)", title, fileOf(use.Codon))
		}
		fmt.Fprintf(p, "| %s | %s |\n", name, use.For)
	}
	p.WriteString("\n```mermaid\nflowchart LR\n")
	fmt.Fprintf(p, "    whole([\"%s\"])\n", c.Table.Title)
	for i, use := range c.Uses {
		title := use.Codon
		if known, ok := p.titles[use.Codon]; ok {
			title = known
		}
		about := use.For
		if i := strings.IndexAny(about, ".:"); i >= 0 {
			about = about[:i]
		}
		fmt.Fprintf(p, "    whole -- \"%s\" --> part%d[\"%s\"]\n", strings.ReplaceAll(about, "`", ""), i+1, title)
	}
	p.WriteString("```\n")
	if c.Ends != "" {
		fmt.Fprintf(p, "\nWhat ends the whole: %s.\n", c.Ends)
	}
}

// split returns the documentation of a table in two parts: its purpose, and everything
// else. A table without rows has only the first. A table that does not compile is an
// error.
func split(t machine.Table) (head, parts string, err error) {
	if len(t.Rows) == 0 {
		return fmt.Sprintf("# %s\n\n%s\n\nName: `%s`. Source: %s.", t.Title, t.Purpose, t.Name, t.Source), "", nil
	}
	m, err := t.Compile()
	if err != nil {
		return "", "", err
	}
	text := t.Markdown(verify.Sequence(m))
	if i := strings.Index(text, "\n## "); i >= 0 {
		return strings.TrimSpace(text[:i]), text[i:], nil
	}
	return strings.TrimSpace(text), "", nil
}

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
