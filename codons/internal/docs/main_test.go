package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/codondoc"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestPagesAreUpToDate(t *testing.T) {
	racetest.Skip(t)
	dir := t.TempDir()
	if err := codondoc.Write(dir, library.Codons()...); err != nil {
		t.Fatal(err)
	}
	want, got := pages(t, dir), pages(t, "../../../docs/codons")
	for name, text := range want {
		if got[name] != text {
			t.Errorf("docs/codons/%s is out of date; run make generate (or: go generate ./codons/internal/docs) and look at the difference", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("docs/codons/%s is about no codon of the library: delete it", name)
		}
	}
}

func TestPagesShowAProgramAndAConversation(t *testing.T) {
	racetest.Skip(t)
	for _, c := range library.Codons() {
		text := pages(t, "../../../docs/codons")[c.Name()+".md"]
		if !strings.Contains(text, "```go\npackage main\n\nimport (\n") || !strings.Contains(text, "runtime.New(") {
			t.Errorf("%s: no program with a node", c.Name())
		}
		if c.Machine() != nil && !strings.Contains(text, "sequenceDiagram\n    participant I as initiator\n    participant R as responder\n    note") {
			t.Errorf("%s: the diagram of a conversation is missing or empty", c.Name())
		}
	}
}

// pages returns the files of a folder by their names.
func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = string(text)
	}
	return all
}
