// Command readme copies code from the examples into README.md, so that what a
// reader sees there has been compiled. A test fails when the two differ.
//
// The code is what stands between two lines of a Go file below examples/:
//
//	// readme:start
//	// readme:end
//
// and its place in the README is between
//
//	<!-- code: examples/hello/main.go -->
//	<!-- /code -->
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
	root := flag.String("root", ".", "the folder of README.md")
	flag.Parse()
	if err := update(*root); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

// update rewrites root's README.md if its code is not that of the examples.
func update(root string) error {
	path := filepath.Join(root, "README.md")
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	code, err := regions(os.DirFS(root))
	if err != nil {
		return err
	}
	text, err := render(string(old), code)
	if err != nil || text == string(old) {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
