package codemutants

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// sums is a module whose test notices that Sum is wrong, and reaches Product without looking at it.
var sums = map[string]string{
	"go.mod": "module sums\n\ngo 1.26\n",
	"sums.go": `package sums

func Sum(a, b int) int { return a + b }

func Product(a, b int) int { return a * b }

func Difference(a, b int) int { return a - b }
`,
	"sums_test.go": `package sums

import "testing"

func TestSum(t *testing.T) {
	Product(1, 2)
	if Sum(1, 2) != 3 {
		t.Error("wrong")
	}
}

func TestAllocs(t *testing.T) { t.Error("a test that counts allocations") }

func TestWrong(t *testing.T) { t.Error("a test that fails without a mutant") }
`,
}

// runIn runs the command in a module, whose packages are in the patterns.
func runIn(t *testing.T, from string, o options) (string, error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	o.root, o.patterns, o.workers = from, []string{"./..."}, 2
	if o.limit == 0 {
		o.limit = time.Minute
	}
	var out strings.Builder
	err := run(t.Context(), &out, o)
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "codemutants-*")); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
	return out.String(), err
}

// TestRun has a mutant that a test notices, one that the test only reaches, and one that no test
// reaches.
func TestRun(t *testing.T) {
	racetest.Skip(t)
	from := writeModule(t, sums)
	out, err := runIn(t, from, options{goal: 85, verbose: true})
	if err == nil || !strings.Contains(err.Error(), "too few") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"5 of 5 mutants",
		"left out, because it fails without a mutant: . TestWrong: exit status 1",
		"noticed by TestSum: sums.go:3: zero: return a + b -> return zero values",
		"noticed by TestSum: sums.go:3: arithmetic: a + b -> a - b",
		"NOT noticed by 1 tests: sums.go:5: zero: return a * b -> return zero values",
		"NOT noticed by 0 tests: sums.go:7: arithmetic: a - b -> a + b",
		"  40.0% (2 of 5) .",
		"code mutants noticed: 40.0% (2 of 5, 0 by tests that hang)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant %q", out, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(from, "sums.go")); err != nil || string(text) != sums["sums.go"] {
		t.Errorf("the module itself has changed: %s, %v", text, err)
	}
	out, err = runIn(t, from, options{goal: 85, only: "a \\+ b -> a - b"})
	if err != nil || !strings.Contains(out, "noticed: 100.0% (1 of 1,") {
		t.Errorf("got %v\n%s", err, out)
	}
	if _, err = runIn(t, from, options{only: "x y"}); err == nil || !strings.Contains(err.Error(), "no mutant") {
		t.Errorf("got %v", err)
	}
}

// TestFailures has packages with a test that fails once, that ends the process, that never ends,
// and that uses all memory.
func TestFailures(t *testing.T) {
	racetest.Skip(t)
	files := map[string]string{"go.mod": sums["go.mod"]}
	for name, test := range map[string]string{
		"chance": "if _, err := os.Stat(\"failed\"); err != nil && Sum(1, 2) != 3 { _ = os.WriteFile(\"failed\", nil, 0o600); t.Error(\"wrong\") }",
		"exit":   "if Sum(1, 2) != 3 { os.Exit(1) }",
		"hang":   "if Sum(1, 2) != 3 { <-make(chan int) }",
		"memory": "if n := Sum(1, 2); n != 3 { memory = make([]byte, -n << 33) }",
	} {
		head := "package " + name + "\n\n"
		files[name+"/sum.go"] = head + "func Sum(a, b int) int { return a + b }\n"
		files[name+"/sum_test.go"] = head + "import (\"os\"; \"testing\")\n\nvar memory, _ = os.ReadFile(\"\")\n\nfunc TestSum(t *testing.T) { " + test + " }\n"
	}
	out, _ := runIn(t, writeModule(t, files), options{only: "arithmetic", limit: 3 * time.Second, verbose: true})
	for _, want := range []string{
		"NOT noticed by 1 tests: chance/", "noticed by panic, exit or leak: exit/", "noticed by TestSum: hang/",
		"noticed by panic, exit or leak: memory/", "75.0% (3 of 4, 1 by tests that hang)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant %q", out, want)
		}
	}
}

// TestSample has the same sample for the same seed, and mutants of each package.
func TestSample(t *testing.T) {
	var all []*mutant
	for i := range 1000 {
		all = append(all, &mutant{folder: fmt.Sprint("p", min(i%3, i%100)), line: i})
	}
	one, again, other := sample(all, 50, 1), sample(all, 50, 1), sample(all, 50, 2)
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Error("the sample does not depend on the seed alone")
	}
	folders := map[string]int{}
	for _, m := range one {
		folders[m.folder]++
	}
	if len(one) != 50 || len(folders) != 3 || folders["p0"] != 17 {
		t.Errorf("got %d mutants of %v", len(one), folders)
	}
	if got := sample(all, 0, 1); len(got) != len(all) {
		t.Errorf("got %d mutants, want all", len(got))
	}
}

// TestBatches runs the quick tests of a mutant's own package first, and at most ten seconds of
// tests.
func TestBatches(t *testing.T) {
	racetest.Skip(t)
	s := suite{reach: map[string][]test{"p:7": {
		{"q", "Far", time.Second}, {"p", "Long", 5 * time.Second}, {"p", "Quick", 0}, {"q", "Longest", time.Minute}, {"o", "Near", time.Second},
	}}}
	var got []string
	for _, batch := range s.batches(&mutant{id: 7, folder: "p"}) {
		for _, t := range batch {
			got = append(got, t.name)
		}
		got = append(got, "|")
	}
	if want := "Quick | Long | Near | Far |"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
