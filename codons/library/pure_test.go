package library_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// TestSidesReadNoClock: the pure methods of the sides, which [codons.Rebuild] repeats, call
// nothing of the clock, of chance or of the system.
func TestSidesReadNoClock(t *testing.T) {
	racetest.Skip(t)
	pure := []string{"Tag", "Reduce", "Compose", "Timer", "ReplyBy", "Data"}
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil || !slices.Contains(pure, method.Name.Name) {
				continue
			}
			found++
			for _, call := range impureCalls(method) {
				t.Errorf("%s: %s calls %s", set.Position(method.Pos()), method.Name.Name, call)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("%d pure methods were found: the test looks at the wrong files", found)
	}
}

// impureCalls returns what a method calls that its arguments do not determine.
func impureCalls(method *ast.FuncDecl) (calls []string) {
	ast.Inspect(method, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := s.X.(*ast.Ident)
		switch name := s.Sel.Name; {
		case of != nil && of.Name == "rand",
			of != nil && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "AfterFunc", "NewTimer"}, name),
			slices.Contains([]string{"Stamp", "System", "Later", "Happen", "Tell", "Lock", "Load"}, name):
			calls = append(calls, name)
		}
		return true
	})
	return calls
}
