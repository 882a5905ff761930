// Command readme copies code from the examples into README.md and docs/*.md, so that
// the code of the documents is compiled code. A test fails when the two differ.
//
// The code is the region between two lines of a Go file below examples/:
//
//	// readme:start
//	// readme:end
//
// In a document, it is placed between
//
//	<!-- code: examples/hello/main.go -->
//	<!-- /code -->
//
// The region of a test file is copied as a program: with a package clause, and with
// main as the name of its Example function.
//
// Run it with make readme.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . -root ../..

func main() {
	root := flag.String("root", ".", "the folder of README.md and docs")
	flag.Parse()
	if err := update(*root); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

// update rewrites the documents whose code differs from that of the examples.
func update(root string) error {
	texts, err := renderAll(os.DirFS(root))
	if err != nil {
		return err
	}
	for name, text := range texts {
		path := filepath.Join(root, name)
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(old) == text {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
