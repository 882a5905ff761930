package library_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
)

// TestGoldenMachines compares each compiled machine of the library with its file in testdata, so
// that a rewritten table is known to behave as before.
func TestGoldenMachines(t *testing.T) {
	for _, c := range library.Codons() {
		if len(c.Table.Rows) == 0 {
			continue
		}
		if _, err := c.Table.Compile(); err != nil {
			t.Error(err)
			continue
		}
		path := filepath.Join("testdata", "machines", c.Table.Name+".txt")
		got := canonical(c.Table)
		if *kit.Update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
			t.Errorf("%s has changed (-want +got); run with -update if that is meant:\n%s", c.Table.Name, d)
		}
	}
}
