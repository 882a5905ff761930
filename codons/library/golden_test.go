package library_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/internal/racetest"
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
		compareGolden(t, "machines", c.Table.Name, canonical(c.Table))
	}
}

// TestGoldenDescriptions compares what each codon declares and documents beside the rows, with its
// file in testdata.
func TestGoldenDescriptions(t *testing.T) {
	for _, c := range library.Codons() {
		compareGolden(t, "described", c.Table.Name, describe(c))
	}
}

// describe writes a codon without what its machine does.
func describe(c *codons.Codon) string {
	var b strings.Builder
	lines(&b, "uses", c.Uses)
	lines(&b, "timer", c.Table.Timers)
	lines(&b, "job", c.Table.Jobs)
	lines(&b, "pair", c.Table.Agree)
	lines(&b, "command", c.Table.Commands)
	lines(&b, "rest", c.Table.Rest)
	lines(&b, "report", c.Table.Reports)
	lines(&b, "renewal", c.Table.Renewals)
	lines(&b, "garbled", c.Table.Garbled)
	lines(&b, "end", c.Table.Ends)
	lines(&b, "exception", c.Table.Exceptions)
	for _, r := range c.Table.Rows {
		fmt.Fprintf(&b, "row of the %s, first in %s: %s\n", r.Role, r.From[0], r.Why)
	}
	for _, p := range c.Payloads {
		fmt.Fprintf(&b, "payload %s: %T, %s, %q\n", p.Act, p.Type, p.Doc, p.Commands)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Commands)) {
		fmt.Fprintf(&b, "content of %s: %T\n", name, c.Commands[name])
	}
	fmt.Fprintf(&b, "%s, %s\n%s\n%s\nends: %s\noutcomes: %q\nlong-lived: %v, standard rows: %v\n", c.Table.Title, c.Example,
		c.Table.Purpose, c.Table.Source, c.Definition.Ends, c.Outcomes, c.Table.LongLived, c.Standard)
	if c.Coordination != nil {
		b.WriteString(c.Coordination.Markdown())
	}
	return b.String()
}

// lines writes a line for each value.
func lines[T any](b *strings.Builder, name string, values []T) {
	for _, v := range values {
		fmt.Fprintf(b, "%s %+v\n", name, v)
	}
}

// compareGolden compares a text with its file in a folder of testdata, or writes the file.
func compareGolden(t *testing.T, folder, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", folder, name+".txt")
	if *kit.Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s of %s has changed (-want +got); run with -update if that is meant:\n%s", folder, name, d)
	}
}

// explored are the small tables whose explorations have files in testdata. Of those of briefly, a
// role sends one message of an act on command, and the files have only some of the networks and
// runs.
var (
	explored = []string{"notify", "whispering-wind", "saga", "propose", "request"}
	briefly  = []string{"contract-net", "task-delegation", "english-auction"}
)

// TestGoldenExplorations compares the results of tables over each kind of network, and of each fair
// run, with the files in testdata. So a rewritten exploration is known to come to the same states as
// before.
func TestGoldenExplorations(t *testing.T) {
	racetest.Skip(t)
	compareExplored(t, "explored", explored, func(table machine.Table) string {
		m := table.MustCompile()
		networks := []verify.Network{{}, {Once: true}, {Reliable: true}, {NoTimeouts: true}, {NoStops: true}, {Strict: true}, {Repeat: 1}, verify.Calm()}
		return explorations(m, networks, slices.Concat(verify.Runs(m), verify.AmnesiaRuns(m), verify.ForgetfulRuns(m)))
	})
}

// TestGoldenBriefExplorations is TestGoldenExplorations for larger tables.
func TestGoldenBriefExplorations(t *testing.T) {
	racetest.Skip(t)
	compareExplored(t, "explored", briefly, func(table machine.Table) string {
		m := table.MustCompile()
		runs := verify.Runs(m)[:2]
		if table.Name == "contract-net" {
			runs = slices.Concat(verify.Runs(m), verify.AmnesiaRuns(m))
		}
		for i := range runs {
			runs[i].Rounds = 1
		}
		return explorations(m, []verify.Network{verify.Calm(), {Strict: true, Repeat: 1, Once: true, NoTimeouts: true, NoStops: true}}, runs)
	})
}

// explorations returns the results of a table over networks, and of fair runs.
func explorations(m *machine.Machine, networks []verify.Network, runs []verify.Run) string {
	var b strings.Builder
	for _, n := range networks {
		r, err := verify.Explore(m, n)
		ends := 0
		for _, n := range r.Ends {
			ends += n
		}
		fmt.Fprintf(&b, "%+v: %v, %v, %d states have ended, unused pairs %v, causes %q\n", n, r, err, ends, r.UnusedPairs, r.UnusedCauses)
	}
	for _, run := range runs {
		r, err := verify.ExploreFair(m, run)
		fmt.Fprintf(&b, "%s: %v, %v, deadlines %q, unused pairs %v\n", run.Name, r, err, r.Deadlines, r.UnusedPairs)
	}
	return b.String()
}

// TestGoldenMistakes compares what the first check that notices a mutant of a small table says, with
// the files in testdata. So a rewritten check is known to find the same mistakes as before.
func TestGoldenMistakes(t *testing.T) {
	racetest.Skip(t)
	compareExplored(t, "mistakes", explored, func(table machine.Table) string {
		var b strings.Builder
		for _, mutant := range verify.Mutants(table, false) {
			fmt.Fprintf(&b, "%s\n\t%s\n", mutant.Change, noticed(mutant.Table))
		}
		return b.String()
	})
}

// compareExplored compares a text for each of the tables with its file.
func compareExplored(t *testing.T, folder string, tables []string, text func(machine.Table) string) {
	t.Helper()
	for _, c := range library.Codons() {
		if slices.Contains(tables, c.Table.Name) {
			compareGolden(t, folder, c.Table.Name, text(c.Table))
		}
	}
}

// noticed returns the first fault of a table.
func noticed(table machine.Table) string {
	m, err := table.Compile()
	if err == nil {
		err = verify.CheckRules(m)
	}
	if err == nil {
		_, err = verify.Explore(m, verify.Network{Strict: true, MaxStates: 5000})
	}
	if err == nil {
		_, err = verify.Explore(m, verify.Calm())
	}
	if err == nil {
		_, err = verify.ExploreFair(m)
	}
	if err == nil {
		return "not noticed"
	}
	var found *verify.Counterexample
	if errors.As(err, &found) {
		return fmt.Sprintf("%s: %s, after %d moves", found.Problem, found.Detail, len(found.Moves))
	}
	lines := strings.Split(err.Error(), "\n")
	return fmt.Sprintf("%s, and %d more", lines[0], len(lines)-1)
}
