package codondoc

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
)

// Names of the files in a folder of pages that are not about one codon.
const (
	indexFile    = "README.md"
	payloadsFile = "payloads.md"
)

// mark is the first line of each file that [Write] writes.
const mark = "<!-- Written by package codondoc. Do not edit. -->\n\n"

// shared describes the properties of all codons.
//
//go:embed shared.md
var shared string

// Write writes a page about each codon to dir, as <name>.md, with an index README.md and the
// types of the payloads in payloads.md. It creates dir, replaces files of these names and
// leaves all others. See [Markdown] for the errors; nothing is written when a codon cannot
// be rendered.
func Write(dir string, codons ...*codons.Codon) error {
	files, err := render(".", codons)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("codondoc: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("codondoc: %w", err)
		}
	}
	return nil
}

// Markdown returns the page about one codon, with the types of its payloads. It reads the sources
// of the module around the working directory. The error names a table that does not compile, a
// Definition.Example in no test file or in two packages, or a payload type without a source.
func Markdown(c *codons.Codon) (string, error) {
	src, err := newSources(".")
	if err != nil {
		return "", fmt.Errorf("codondoc: %w", err)
	}
	p := &page{types: newTypes(src, ""), src: src}
	if err := p.codon(c); err != nil {
		return "", fmt.Errorf("codondoc: %s: %w", c.Name(), err)
	}
	if err := p.payloadTypes("##"); err != nil {
		return "", fmt.Errorf("codondoc: %s: %w", c.Name(), err)
	}
	return p.String(), nil
}

// render returns the files of a folder of pages by their names, from the sources of the
// module around dir.
func render(dir string, all []*codons.Codon) (map[string]string, error) {
	src, err := newSources(dir)
	if err != nil {
		return nil, fmt.Errorf("codondoc: %w", err)
	}
	files := map[string]string{}
	types := newTypes(src, payloadsFile)
	titles, err := titlesOf(all)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		p := &page{types: types, src: src, titles: titles}
		if err := p.codon(c); err != nil {
			return nil, fmt.Errorf("codondoc: %s: %w", c.Name(), err)
		}
		files[fileOf(c.Name())] = mark + p.String()
	}
	payloads := &page{types: types, src: src}
	types.file = "" // the links of that page lead to itself
	if err := payloads.payloadTypes("#"); err != nil {
		return nil, fmt.Errorf("codondoc: %w", err)
	}
	files[payloadsFile] = mark + strings.TrimPrefix(payloads.String(), "\n")
	files[indexFile] = mark + index(all)
	return files, nil
}

// titlesOf returns the titles of codons by their names.
func titlesOf(all []*codons.Codon) (map[string]string, error) {
	titles := map[string]string{}
	for _, c := range all {
		switch _, twice := titles[c.Name()]; {
		case twice:
			return nil, fmt.Errorf("codondoc: two codons are named %q", c.Name())
		case fileOf(c.Name()) == payloadsFile, fileOf(c.Name()) == indexFile, strings.ContainsAny(c.Name(), `/\`):
			return nil, fmt.Errorf("codondoc: %q cannot name a page: %w", c.Name(), errors.ErrUnsupported)
		}
		titles[c.Name()] = c.Table.Title
	}
	return titles, nil
}

// fileOf returns the file of the page about a codon.
func fileOf(name string) string { return name + ".md" }

// index returns the page that lists the others.
func index(all []*codons.Codon) string {
	var b strings.Builder
	b.WriteString("# The codons\n\n| codon | protocol | what it is for |\n|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(&b, "| [%s](%s) | `%s` | %s |\n", c.Table.Title, fileOf(c.Name()), c.Name(), cell(c.Table.Purpose))
	}
	fmt.Fprintf(&b, "\nThe [types of payloads](%s) have a page of their own.\n", payloadsFile)
	fmt.Fprintf(&b, "\n## Properties of all codons\n\n%s\n", strings.TrimSpace(shared))
	return b.String()
}
