package machine_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMarkdown(t *testing.T) {
	for _, table := range []machine.Table{tabletest.Ping(), tabletest.Haggle()} {
		golden(t, table.Name, func() string {
			return table.Markdown(verify.Sequence(table.MustCompile()))
		})
	}
	for _, c := range []machine.Coordination{tabletest.AwardOne(), tabletest.SellOne()} {
		golden(t, c.Name, c.Markdown)
	}
}

// golden renders twice and compares the texts with the file of that name.
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
		t.Error("the second text differs from the first")
	}
}

func TestMarkdownWithoutAnExample(t *testing.T) {
	table := tabletest.Ping()
	want := strings.Replace(table.Markdown("x\n"), "\n## A conversation that goes well\n\n```mermaid\nx\n```\n", "", 1)
	if got := table.Markdown(""); got != want {
		t.Errorf("got %s", got)
	}
}
