package library

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// family is the parsed Go code of one package of the families.
type family struct {
	name  string
	files []*ast.File
}

// kernel is the name of the package that the families are written with.
const kernel = "codons"

// families parses the packages below codons, and codons itself, by name.
func families(t *testing.T) map[string]*family {
	t.Helper()
	all := map[string]*family{kernel: parseFolder(t, kernel, "..")}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			all[e.Name()] = parseFolder(t, e.Name(), filepath.Join("..", e.Name()))
		}
	}
	return all
}

func parseFolder(t *testing.T, name, folder string) *family {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	f := &family{name: name}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f.files = append(f.files, file)
	}
	return f
}

// has reports whether the package or its tests declare a function.
func (f *family) has(function string) bool {
	for _, file := range f.files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == function {
				return true
			}
		}
	}
	return false
}

// exports returns the exported variables and functions, as package.Name, whose value or
// result has the type, each with the name that it is compared by. That is its own name, or
// for a variable that an exported function makes, the function's: one of the two is listed. The
// type of a variable is that of the call that makes its value: a call of maker, or of a
// function of the package with that result.
func (f *family) exports(typ, maker string) map[string]string {
	functions := f.returning(typ)
	names := map[string]string{}
	for _, n := range functions {
		names[n] = n
	}
	for _, file := range f.files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && !strings.HasSuffix(file.Name.Name, "_test") {
				maps.Copy(names, madeBy(g, append(functions, maker)))
			}
		}
	}
	exported := map[string]string{}
	for name, made := range names {
		if !ast.IsExported(made) || made == maker {
			made = name
		}
		if ast.IsExported(name) {
			exported[f.name+"."+name] = f.name + "." + made
		}
	}
	return exported
}

// returning returns the functions of the package with that single result.
func (f *family) returning(typ string) (names []string) {
	for _, file := range f.files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Type.Results.NumFields() == 1 && nameOf(fn.Type.Results.List[0].Type) == typ {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// madeBy returns the variables of a declaration whose value is a call of one of makers, each
// with its maker.
func madeBy(g *ast.GenDecl, makers []string) map[string]string {
	names := map[string]string{}
	for _, s := range g.Specs {
		v := s.(*ast.ValueSpec)
		for i, value := range v.Values {
			if call, ok := value.(*ast.CallExpr); ok && slices.Contains(makers, nameOf(call.Fun)) {
				names[v.Names[i].Name] = nameOf(call.Fun)
			}
		}
	}
	return names
}

// nameOf returns the text of a name, a package's name, a pointer to one, or the callee of a
// call; empty for any other expression.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + nameOf(e.X)
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return nameOf(e.X)
	case *ast.CallExpr:
		return nameOf(e.Fun)
	}
	return ""
}

// listed returns the names in the slice literal of a function of this package.
func listed(t *testing.T, library *family, function string) (names []string) {
	t.Helper()
	for _, file := range library.files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != function {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok {
					for _, e := range lit.Elts {
						names = append(names, nameOf(e))
					}
				}
				return true
			})
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s has no slice literal", function)
	}
	return names
}

// Codons and Services name what the families export, each once. A codon or a service that is
// missing here is not documented, not explored, not watched and not answered by a node.
func TestCodonsAndServicesAreComplete(t *testing.T) {
	all := families(t)
	for function, made := range map[string]struct{ typ, maker string }{
		"Codons":   {"*codons.Codon", "codons.MustDefine"},
		"Services": {"*codons.Service", "codons.NewService"},
	} {
		exported := map[string]string{}
		for name, f := range all {
			if name != kernel && name != "library" {
				maps.Copy(exported, f.exports(made.typ, made.maker))
			}
		}
		want := slices.Compact(slices.Sorted(maps.Values(exported)))
		var got []string
		for _, n := range listed(t, all["library"], function) {
			if made, ok := exported[n]; ok {
				n = made
			}
			if strings.Contains(n, ".") { // else it is a codon of this package
				got = append(got, n)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s differs from what the families export (-exported +listed):\n%s", function, d)
		}
	}
}

// Every codon names an example, which is in the tests of the package that exports the codon.
func TestEveryCodonHasItsExample(t *testing.T) {
	racetest.Skip(t)
	all := families(t)
	names := listed(t, all["library"], "Codons")
	for i, c := range Codons() {
		home, _, ok := strings.Cut(names[i], ".")
		if !ok {
			home = kernel // a codon of this package documents the kernel
		}
		if !all[home].has(c.Example) {
			t.Errorf("%s: the tests of package %s have no %q", names[i], home, c.Example)
		}
	}
}
