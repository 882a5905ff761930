package kit

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Update is the flag -update: write the golden files again.
var Update = flag.Bool("update", false, "write the transcripts in testdata anew")

const transcripts = "testdata/transcripts.txtar"

// Golden compares a transcript with the section of that name in testdata.
func Golden(t *testing.T, name string, lines []string) {
	t.Helper()
	sections := readSections(t)
	got := strings.Join(lines, "\n") + "\n"
	if *Update {
		sections[name] = got
		writeSections(t, sections)
		return
	}
	if want := sections[name]; got != want {
		t.Errorf("the transcript differs; run with -update and look at the difference\ngot:\n%s\nwant:\n%s", got, want)
	}
}

// readSections reads an archive in the txtar format.
func readSections(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(transcripts)
	if err != nil && !*Update {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, " --\n")
		sections[name] = strings.TrimSuffix(body, "\n") + "\n"
	}
	return sections
}

func writeSections(t *testing.T, sections map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		b.WriteString("-- " + name + " --\n" + sections[name])
	}
	if err := os.MkdirAll(filepath.Dir(transcripts), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(transcripts, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
