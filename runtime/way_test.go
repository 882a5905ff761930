package runtime_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWay counts by the counters of the compiler's coverage what one delegation runs, at one node
// and between two: the functions of this module, and the calls of System.Find. It builds all
// packages with these counters: make way. With RIBOSOME_WAY=list it lists the functions.
func TestWay(t *testing.T) {
	list := os.Getenv("RIBOSOME_WAY")
	if list == "" {
		t.Skip("make way runs it")
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "way")
	run(t, ".", "go", "build", "-cover", "-covermode=atomic", "-coverpkg=../...", "-o", exe, "./testdata/way")
	const rounds = 20
	run(t, dir, exe, strconv.Itoa(rounds))
	for where, most := range map[string]struct{ functions, finds int }{"here": {335, 2}, "there": {492, 5}} { // three messages, so that a Find each at each node would be 3 and 6
		t.Run(where, func(t *testing.T) {
			calls := counted(t, filepath.Join(dir, where))
			var names []string
			for name, n := range calls {
				if n >= rounds { // else it is of gossip, or of something else that is seldom
					names = append(names, name)
				}
			}
			finds := calls["actors (*System).Find"] / rounds
			t.Logf("%d functions, %d calls of Find", len(names), finds)
			if len(names) > most.functions || finds > most.finds {
				t.Errorf("more than %d functions or %d calls of Find", most.functions, most.finds)
			}
			if list != "list" {
				return
			}
			slices.SortFunc(names, func(a, b string) int { return cmp.Or(calls[b]-calls[a], strings.Compare(a, b)) })
			for _, name := range names {
				t.Log(float64(calls[name])/rounds, name)
			}
		})
	}
}

// run runs a command in a folder.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// counted returns how often each function of this module has run, by the counters in a folder.
func counted(t *testing.T, dir string) map[string]int {
	t.Helper()
	const module = "github.com/ribosome-agents/ribosome/"
	profile := filepath.Join(dir, "profile")
	run(t, ".", "go", "tool", "covdata", "textfmt", "-i", dir, "-o", profile)
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]map[string]int{} // by file, the counts of blocks by the place where they begin
	for line := range strings.Lines(string(text)) {
		file, block, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, module), "\n"), ":")
		begin, counts, ok := strings.Cut(block, ",")
		if !ok {
			continue // the first line
		}
		n, err := strconv.Atoi(counts[strings.LastIndexByte(counts, ' ')+1:])
		if err != nil {
			t.Fatal(err)
		}
		if blocks[file] == nil {
			blocks[file] = map[string]int{}
		}
		blocks[file][begin] = n
	}
	calls := map[string]int{}
	for file, of := range blocks {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, filepath.Join("..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				name = receiver(f.Recv.List[0].Type) + "." + name
			}
			begin := set.Position(f.Body.Lbrace)
			calls[filepath.ToSlash(filepath.Dir(file))+" "+name] += of[fmt.Sprintf("%d.%d", begin.Line, begin.Column)]
		}
	}
	return calls
}

// receiver writes the type of a method's receiver without type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "(*" + receiver(e.X) + ")"
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
