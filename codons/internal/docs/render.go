package main

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
)

// shared is the part of the page that people write: what holds for every codon.
//
//go:embed shared.md
var shared string

// The headings that are not a codon's.
const (
	sharedTitle   = "What all codons share"
	payloadsTitle = "Types of payloads"
)

// writer is a page that grows.
type writer struct {
	strings.Builder
	library  []codons.Codon
	examples examples
	types    *types
}

// render returns the page about a library, with the examples and the comments of
// the sources below root.
func render(root string, library []codons.Codon) (string, error) {
	examples, err := examplesIn(filepath.Join(root, "codons"))
	if err != nil {
		return "", err
	}
	w := &writer{library: library, examples: examples, types: newTypes(root)}
	w.contents()
	fmt.Fprintf(w, "\n## %s\n\n%s\n", sharedTitle, strings.TrimSpace(shared))
	for _, c := range library {
		if err := w.codon(c); err != nil {
			return "", fmt.Errorf("%s: %w", c.Table.Name, err)
		}
	}
	err = w.allTypes()
	return w.String(), err
}

// contents writes the top of the page.
func (w *writer) contents() {
	w.WriteString("# The codons\n\n")
	w.WriteString("<!-- Written by codons/internal/docs: run make generate. What all codons share is in its shared.md. -->\n\n")
	fmt.Fprintf(w, "- %s\n", link(sharedTitle))
	for _, c := range w.library {
		fmt.Fprintf(w, "- %s, `%s`\n", link(c.Table.Title), c.Table.Name)
	}
	fmt.Fprintf(w, "- %s\n", link(payloadsTitle))
}

// codon writes the section about one codon.
func (w *writer) codon(c codons.Codon) error {
	head, parts := split(c.Table)
	fmt.Fprintf(w, "\n## %s\n\n%s\n", c.Table.Title, head)
	w.uses(c)
	if err := w.example(c); err != nil {
		return err
	}
	w.WriteString(parts)
	if c.Coordination != nil {
		w.WriteString("\n" + nested(c.Coordination.Markdown(), c.Table.Title))
	}
	w.payloads(c)
	w.failures(c)
	return nil
}

// uses writes which other codons a codon is made of.
func (w *writer) uses(c codons.Codon) {
	if len(c.Uses) == 0 {
		return
	}
	links := make([]string, len(c.Uses))
	for i, name := range c.Uses {
		links[i] = "`" + name + "`"
		for _, other := range w.library {
			if other.Table.Name == name {
				links[i] = link(other.Table.Title)
			}
		}
	}
	fmt.Fprintf(w, "\nMade of: %s.\n", strings.Join(links, ", "))
}
