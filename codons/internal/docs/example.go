package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
)

// example is the code of a Go example, what it prints, and the names in it.
type example struct {
	code, output string
	names        []string
}

// examples are the examples of a folder by their names, and the types that their
// files declare, with methods.
type examples struct {
	all   map[string]example
	types map[string]string
}

// examplesIn reads the test files of a folder that have examples.
func examplesIn(folder string) (examples, error) {
	found := examples{map[string]example{}, map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return found, err
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			return found, err
		}
		if err := found.read(path, string(source)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// read takes what is of use out of a file.
func (x *examples) read(path, source string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || !slices.ContainsFunc(file.Decls, isExample) {
		return err
	}
	text := func(from, to token.Pos) string { return source[files.Position(from).Offset:files.Position(to).Offset] }
	for _, d := range file.Decls {
		if name := typeOf(d); name != "" {
			x.types[name] += text(begin(d), d.End()) + "\n\n"
		}
		if isExample(d) {
			f := d.(*ast.FuncDecl)
			e := newExample(text(f.Body.Lbrace+1, f.Body.Rbrace))
			e.names = namesIn(f.Body)
			x.all[f.Name.Name] = e
		}
	}
	return nil
}

func isExample(d ast.Decl) bool {
	f, ok := d.(*ast.FuncDecl)
	return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
}

// begin is where a declaration starts, its comment included.
func begin(d ast.Decl) token.Pos {
	var doc *ast.CommentGroup
	switch d := d.(type) {
	case *ast.GenDecl:
		doc = d.Doc
	case *ast.FuncDecl:
		doc = d.Doc
	}
	if doc == nil {
		return d.Pos()
	}
	return doc.Pos()
}

// typeOf is the type that a declaration makes or gives a method to, if any.
func typeOf(d ast.Decl) string {
	var t ast.Expr
	switch d := d.(type) {
	case *ast.GenDecl:
		if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
			return spec.Name.Name
		}
	case *ast.FuncDecl:
		if d.Recv != nil {
			t = d.Recv.List[0].Type
		}
	}
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// namesIn returns the names in a node, each once.
func namesIn(n ast.Node) []string {
	var names []string
	ast.Inspect(n, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && !slices.Contains(names, name.Name) {
			names = append(names, name.Name)
		}
		return true
	})
	return names
}

// newExample takes the body of an example apart.
func newExample(body string) example {
	code, output, _ := strings.Cut(body, "// Output:")
	var printed []string
	for line := range strings.Lines(output) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "//")
		printed = append(printed, strings.TrimPrefix(line, " "))
	}
	return example{code: unindented(code), output: strings.TrimSpace(strings.Join(printed, "\n"))}
}

// unindented returns the lines of a function's body as if they stood alone.
func unindented(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return strings.TrimSpace(b.String())
}

var errNoExample = errors.New("there is no such example")

// example writes a codon's example, with the agents that were not shown before.
func (w *writer) example(c codons.Codon) error {
	e, ok := w.examples.all[c.Example]
	if !ok {
		return fmt.Errorf("%w: %q", errNoExample, c.Example)
	}
	fmt.Fprintf(w, "\n### %s: in Go\n\n```go\n", c.Table.Title)
	for _, name := range e.names {
		if text := w.examples.types[name]; text != "" {
			w.WriteString(text)
			delete(w.examples.types, name)
		}
	}
	fmt.Fprintf(w, "%s\n```\n", e.code)
	if e.output != "" {
		fmt.Fprintf(w, "\nIt prints\n\n```text\n%s\n```\n", e.output)
	}
	return nil
}
