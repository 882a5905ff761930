package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) {
	// The modules of these tests have one goroutine: the race detector, which CI has in GOFLAGS, would only slow their builds down.
	_ = os.Setenv("GOFLAGS", "-trimpath")
	leakcheck.Main(m)
}

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
	for _, m := range mutants {
		for _, name := range m.first {
			if !slices.ContainsFunc(m.tests, func(p string) bool { return hasTest(t, p, name) }) {
				t.Errorf("%s: no %s in %v", m.name, name, m.tests)
			}
		}
	}
	for _, p := range packagesOf(mutants) {
		if tests, _ := filepath.Glob(filepath.Join(root, p, "*_test.go")); len(tests) == 0 {
			t.Errorf("no tests in %s", p)
		}
	}
}

// hasTest reports whether a package has a test, an example or a fuzz target of that name.
func hasTest(t *testing.T, p, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, p, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nfunc "+name+"(")
	})
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
		"1: want a line that begins with mutant":  "file f",
		"2: want file, tests, first, fault or @@": "mutant m\nwhat x",
		"5: m: want file":                         "mutant m\nfile f\n@@\n-a",
		"8: m: the hunk changes nothing":          "mutant m\nfile f\ntests ./p\nfault F.\n@@\n-a\n+\ta\n",
		"want a name of one word":                 "mutant a b\nfile f\ntests ./p\nfault F.\n@@\n-a",
		"want a space, a minus or a plus":         "mutant m\n@@\na",
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

// userCache returns the user's build cache, so that the standard library is not compiled for a test.
func userCache(t *testing.T) string {
	t.Helper()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(cache))
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
	cache := userCache(t)
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
			err := run(t.Context(), &out, options{lists: lists, root: from, only: c.only, workers: 2, cache: cache, limit: time.Minute, goal: 95})
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
	lists := fstest.MapFS{"list/a.txt": {Data: []byte("mutant m\nfile sums.go\ntests .\nfault F.\n@@\n-return a + b\n+return a - b\n")}}
	var out strings.Builder
	err := run(t.Context(), &out, options{lists: lists, root: from, workers: 1, cache: userCache(t), limit: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "without a mutant") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}

func TestPhases(t *testing.T) {
	s := suite{tests: []string{"A", "B", "C", "D", "E"}, took: map[string]time.Duration{
		"A": time.Minute, "B": time.Second, "C": time.Millisecond, "D": time.Hour, "E": time.Millisecond,
	}}
	var got []string
	for _, p := range s.phases([]string{"D", "gone"}) {
		got = append(got, strings.Join(p.arguments(nil), " ")+" "+p.took.String())
	}
	want := []string{
		"-test.run=^(D)$ -test.skip=^$ 1h0m0s",
		"-test.run=^(C|E)$ -test.skip=^$ 2ms",
		"-test.run=^(B)$ -test.skip=^$ 1s",
		"-test.skip=^(D|C|E|B)$ 1m0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFailures has tests that fail once, that never end, and that end the process.
func TestFailures(t *testing.T) {
	const once = "package sums\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestOnce(t *testing.T) {\n\tif Sum(1, 2) == 3 {\n\t\treturn\n\t}\n" +
		"\tif _, err := os.Stat(\"failed\"); err != nil {\n\t\t_ = os.WriteFile(\"failed\", nil, 0o600)\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
	const exit = "package sums\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestExit(*testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tos.Exit(1)\n\t}\n}\n"
	const hang = "package sums\n\nimport \"testing\"\n\nfunc TestHang(*testing.T) {\n\tfor Sum(1, 2) != 3 {\n\t}\n}\n"
	const list = "mutant m\nfile sums.go\ntests .\nfault F.\n@@\n-return a + b\n+return a - b\n"
	cache := userCache(t)
	for name, c := range map[string]struct{ test, want, err string }{
		"by chance": {once, "m  (by chance: TestOnce)", "too few"},
		"an exit":   {exit, "m  (panic, exit or leak)", ""},
		"no end":    {hang, "m  TestHang  (hang: no end within 1s)\nof those noticed, 1 by tests that did not end in time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			from := t.TempDir()
			for name, text := range map[string]string{"go.mod": module["go.mod"], "sums.go": module["sums.go"], "sums_test.go": c.test} {
				if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			lists := fstest.MapFS{"list/a.txt": {Data: []byte(list)}}
			var out strings.Builder
			err := run(t.Context(), &out, options{lists: lists, root: from, workers: 1, cache: cache, limit: time.Second, goal: 95})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want an error with %q", err, c.err)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("got\n%s\nwant %q", out.String(), c.want)
			}
		})
	}
}

// TestUnreliable has a test that fails once without a mutant: it is left out, and the others notice the mutant.
func TestUnreliable(t *testing.T) {
	const once = "package sums\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestOnce(t *testing.T) {\n" +
		"\tif _, err := os.Stat(\"failed\"); err != nil {\n\t\t_ = os.WriteFile(\"failed\", nil, 0o600)\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
	from := t.TempDir()
	for name, text := range map[string]string{"go.mod": module["go.mod"], "sums.go": module["sums.go"], "a_test.go": once, "go_test.go": module["go_test.go"]} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lists := fstest.MapFS{"list/a.txt": {Data: []byte("mutant m\nfile sums.go\ntests .\nfault F.\n@@\n-return a + b\n+return a - b\n")}}
	var out strings.Builder
	err := run(t.Context(), &out, options{lists: lists, root: from, workers: 1, cache: userCache(t), limit: time.Minute, goal: 95})
	if err != nil || !strings.Contains(out.String(), "m  TestSum") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}

// TestResume takes what an interrupted run noticed, and tests the rest.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	const before = "noticed           30.0s  a  (hang: no end within 30s)\nNOT noticed        1.0s  b\nnoticed            1.5s  c  TestC\n" +
		"noticed            1.5s  gone  TestC\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	results, others, err := resume(file, []mutant{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range results {
		lines = append(lines, r.String())
	}
	if diff := cmp.Diff([]string{"noticed           30.0s  a  (hang: no end within 30s)", "noticed            1.5s  c  TestC"}, lines); diff != "" {
		t.Error(diff)
	}
	if len(others) != 2 || others[0].name != "b" || others[1].name != "d" {
		t.Errorf("to be tested are %v, want b and d", others)
	}
}
