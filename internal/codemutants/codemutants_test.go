package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const root = "../.."

// TestMutantsApply has each mutant of the lists apply to the code as it is, and name packages that have tests.
func TestMutantsApply(t *testing.T) {
	mutants, err := parseLists(lists)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if _, err := m.apply(string(text)); err != nil {
			t.Errorf("%v; correct it in internal/codemutants/list", err)
		}
	}
	for _, p := range packagesOf(mutants) {
		if tests, _ := filepath.Glob(filepath.Join(root, p, "*_test.go")); len(tests) == 0 {
			t.Errorf("no tests in %s", p)
		}
	}
}

func TestApply(t *testing.T) {
	const text = "a\n\tb\n\tc\nd\n\tb\n"
	for name, c := range map[string]struct{ hunk, want, err string }{
		"replaced":  {" a\n-b\n+\tx", "a\n\tx\n\tc\nd\n\tb\n", ""},
		"inserted":  {" d\n+e", "a\n\tb\n\tc\nd\ne\n\tb\n", ""},
		"deleted":   {"-c", "a\n\tb\nd\n\tb\n", ""},
		"twice":     {"-b", "", "twice, at 2 and 5"},
		"missing":   {"-x", "", "does not have"},
		"not in it": {" a\n-c", "", "does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			mutants, err := parse("mutant m\nfile f\ntests ./p\nfault F.\n@@\n" + c.hunk)
			if err != nil {
				t.Fatal(err)
			}
			got, err := mutants[0].apply(text)
			if c.err == "" && (err != nil || strings.ReplaceAll(got, "\t", "") != strings.ReplaceAll(c.want, "\t", "")) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want an error with %q", err, c.err)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for want, text := range map[string]string{
		"1: want a line that begins with mutant": "file f",
		"2: want file, tests, fault or @@":       "mutant m\nwhat x",
		"5: m: want file":                        "mutant m\nfile f\n@@\n-a",
		"8: m: the hunk changes nothing":         "mutant m\nfile f\ntests ./p\nfault F.\n@@\n-a\n+\ta\n",
		"want a name of one word":                "mutant a b\nfile f\ntests ./p\nfault F.\n@@\n-a",
		"want a space, a minus or a plus":        "mutant m\n@@\na",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
	twice := fstest.MapFS{"list/a.txt": {Data: []byte(strings.Repeat("mutant m\nfile f\ntests ./p\nfault F.\n@@\n-a\n\n", 2))}}
	if _, err := parseLists(twice); err == nil || !strings.Contains(err.Error(), "two mutants") {
		t.Errorf("got %v", err)
	}
}

// module is a module with one package, whose test notices only that Sum is wrong.
var module = map[string]string{
	"go.mod":     "module sums\n\ngo 1.26\n",
	"go_test.go": "package sums\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n",
	"sums.go":    "package sums\n\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n\nfunc Product(a, b int) int {\n\treturn a * b\n}\n",
}

// TestRun tests one mutant of each kind in a module of its own.
func TestRun(t *testing.T) {
	from := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(name, hunk string) string {
		return "mutant " + name + "\nfile sums.go\ntests .\nfault F of " + name + ".\n@@\n" + hunk + "\n\n"
	}
	sum, product := list("sum", "-return a + b\n+return a - b"), list("product", "-return a * b\n+return a / b")
	broken, missing := list("broken", "-return a + b\n+return c"), list("missing", "-return c\n+return b")
	for name, c := range map[string]struct {
		list, only string
		want       []string
		err        string
	}{
		"noticed":         {list: sum, want: []string{"noticed", "sum  TestSum", "code mutants noticed: 100.0% (1 of 1)"}},
		"not noticed":     {list: sum + product, want: []string{"product: NOT noticed: F of product.", "noticed: 50.0% (1 of 2)"}, err: "too few"},
		"only":            {list: sum + product, only: "^sum$", want: []string{"noticed: 100.0% (1 of 1)"}},
		"does not run":    {list: broken + missing, want: []string{"does not compile", "does not apply", "0.0% (0 of 2)"}, err: "2 mutants do not apply"},
		"no such mutants": {list: sum, only: "x", err: "no mutant"},
	} {
		t.Run(name, func(t *testing.T) {
			lists := fstest.MapFS{"list/a.txt": {Data: []byte(c.list)}}
			var out strings.Builder
			err := run(t.Context(), &out, options{lists: lists, root: from, only: c.only, workers: 2, timeout: time.Minute, goal: 95})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want an error with %q", err, c.err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant %q", out.String(), want)
				}
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "codemutants-*")); err != nil || len(left) > 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
	text, err := os.ReadFile(filepath.Join(from, "sums.go"))
	if err != nil || string(text) != module["sums.go"] {
		t.Errorf("the module itself has changed: %s, %v", text, err)
	}
}

// TestTestsThatFailAlready refuses a module whose tests fail without a mutant.
func TestTestsThatFailAlready(t *testing.T) {
	from := t.TempDir()
	for name, text := range module {
		text = strings.Replace(text, "!= 3", "== 3", 1)
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lists := fstest.MapFS{"list/a.txt": {Data: []byte("mutant m\nfile sums.go\ntests .\nfault F.\n@@\n-return a + b\n")}}
	var out strings.Builder
	err := run(t.Context(), &out, options{lists: lists, root: from, workers: 1, timeout: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "without a mutant") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}

// TestClean checks that what was compiled for a mutant is removed, and nothing else.
func TestClean(t *testing.T) {
	s := scratch{cache: t.TempDir()}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.cache, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("all")
	if err := s.keep(); err != nil {
		t.Fatal(err)
	}
	write("one")
	if err := s.clean(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(s.cache, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "all" {
		t.Errorf("left are %v, %v; want all", left, err)
	}
}
