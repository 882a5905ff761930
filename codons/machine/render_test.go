package machine

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMarkdown(t *testing.T) {
	for _, table := range []Table{ping(), haggle()} {
		golden(t, table.Name, table.Markdown)
	}
	for _, c := range []Coordination{awardOne(), sellOne()} {
		golden(t, c.Name, c.Markdown)
	}
}

// golden compares what is rendered with the file of that name, twice.
func golden(t *testing.T, name string, render func() string) {
	t.Helper()
	path := filepath.Join("testdata", name+".md")
	got := render()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is rendered now; run the test with -update and look at the difference", path)
	}
	if again := render(); again != got {
		t.Error("the same thing gives another text")
	}
}

func TestSequenceOfABrokenTableIsEmpty(t *testing.T) {
	if got := (Table{}).Sequence(); got != "" {
		t.Errorf("got %q", got)
	}
}
