// Command docs writes docs/codons: a page about each codon of the library, by package
// codondoc. A test fails when a page is out of date.
//
// Run it with make generate.
package main

import (
	"fmt"
	"os"

	"github.com/ribosome-agents/ribosome/codons/codondoc"
	"github.com/ribosome-agents/ribosome/codons/library"
)

//go:generate go run . ../../../docs/codons

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docs <folder of the pages>")
		os.Exit(2)
	}
	if err := codondoc.Write(os.Args[1], library.Codons()...); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}
