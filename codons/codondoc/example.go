package codondoc

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	gopath "path"
	"path/filepath"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
)

// example is the code of a Go example, as a complete program where it can be one, and the
// text that it prints.
type example struct {
	pkg          string // the name of its package, without _test
	path         string // the path of its package
	code, output string
}

// Errors of [codons.Definition].Example.
var (
	errNoExample   = errors.New("no test file has this example")
	errTwoExamples = errors.New("two packages have this example; name the package, too")
)

// example writes a codon's example.
func (p *page) example(c *codons.Codon) error {
	if c.Example == "" {
		return nil
	}
	e, err := p.src.example(c.Example)
	if err != nil {
		return fmt.Errorf("%w: %q", err, c.Example)
	}
	fmt.Fprintf(p, "\n## In Go\n\n```go\n%s\n```\n", e.code)
	if e.output != "" {
		fmt.Fprintf(p, "\nOutput:\n\n```text\n%s\n```\n", e.output)
	}
	return nil
}

// example returns an example of the module by its name, "ExampleDelegate" or, with the name
// of its package, "delegation.ExampleDelegate".
func (s *sources) example(name string) (example, error) {
	if s.examples == nil {
		s.examples = map[string][]example{}
		if err := filepath.WalkDir(s.root, s.readExamples); err != nil {
			return example{}, err
		}
	}
	pkg, base, qualified := strings.Cut(name, ".")
	if !qualified {
		pkg, base = "", name
	}
	var found []example
	for _, e := range s.examples[base] {
		if pkg == "" || e.pkg == pkg {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return example{}, errNoExample
	case 1:
		return found[0], nil
	}
	return example{}, errTwoExamples
}

// readExamples reads the examples of a file of the module. It is the function of a walk.
func (s *sources) readExamples(path string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir() && path != s.root && s.outside(path, d.Name()):
		return fs.SkipDir
	case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("\nfunc Example")) {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	pkg := strings.TrimSuffix(file.Name.Name, "_test")
	for _, e := range doc.Examples(file) {
		code, err := program(files, e)
		if err != nil {
			return fmt.Errorf("%s: Example%s: %w", path, e.Name, err)
		}
		below, err := filepath.Rel(s.root, filepath.Dir(path))
		if err != nil {
			return err
		}
		found := example{pkg, gopath.Join(s.module, filepath.ToSlash(below)), code, strings.TrimSpace(e.Output)}
		s.examples["Example"+e.Name] = append(s.examples["Example"+e.Name], found)
	}
	return nil
}

// outside reports whether a folder is no part of the module, as the go command sees it.
func (s *sources) outside(path, name string) bool {
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// program returns the code of an example: a program with its imports, or else the body of
// the function.
func program(files *token.FileSet, e *doc.Example) (string, error) {
	var node any = e.Play
	if e.Play == nil {
		node = e.Code
		if block, ok := e.Code.(*ast.BlockStmt); ok {
			node = block.List
		}
	}
	var b strings.Builder
	err := format.Node(&b, files, node)
	return strings.TrimSpace(b.String()), err
}
