// Command docs writes docs/codons.md: one page about every codon of the library,
// made of the tables that run the conversations, of the Go types of their payloads
// and of the package's examples. A test fails when the page is out of date.
//
// Run it with make generate.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ribosome-agents/ribosome/codons"
)

//go:generate go run . -root ../../..

func main() {
	root := flag.String("root", ".", "the folder of go.mod")
	flag.Parse()
	if err := update(*root); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// update writes the page below root.
func update(root string) error {
	text, err := render(root, codons.Library())
	if err != nil {
		return err
	}
	return os.WriteFile(page(root), []byte(text), 0o644)
}

// page is where the page is.
func page(root string) string { return filepath.Join(root, "docs", "codons.md") }
