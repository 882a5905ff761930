package library_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// large are the tables whose walks with a side that forgets take some seconds each, or more.
var large = []string{"task-delegation", "subscribe", "request-whenever", "english-auction", "dutch-auction"}

// Each side ends although the other has lost its memory. testdata/amnesia has, by table, the pairs
// of states in which only a deadline brings the end. The large tables are part of the long form.
func TestExploreAmnesia(t *testing.T) {
	racetest.Skip(t)
	exploreDeadlines(t, "amnesia", func(table machine.Table) []verify.Run {
		runs := verify.AmnesiaRuns(table.MustCompile())
		if slices.Contains(large, table.Name) && !exhaustive.Enabled() && !*kit.Update {
			return runs[:1]
		}
		return runs
	})
}

// Each side ends although the other has forgotten its replies or its state, and although an agent
// stops, or the deadlines of the other side pass. testdata/forgetful has, by table, the pairs of
// states in which only a deadline brings the end. The normal run has the small tables. Where a
// bidder begins anew and an agent stops, an auction has one price: with two, it has more messages
// than a walk has room for.
func TestExploreForgetfulRuns(t *testing.T) {
	racetest.Skip(t)
	exploreDeadlines(t, "forgetful", func(table machine.Table) []verify.Run {
		small := []string{"propose", "whispering-wind", "notify", "contract-net"}
		if !slices.Contains(small, table.Name) && !exhaustive.Enabled() && !*kit.Update {
			return nil
		}
		runs := verify.ForgetfulRuns(table.MustCompile())
		for i := range runs {
			if strings.HasSuffix(table.Name, "auction") && runs[i].Stops && runs[i].Amnesia[machine.Responder] {
				runs[i].Rounds = 1
			}
		}
		return runs
	})
}

// exploreDeadlines walks runs of each table of the library, and compares the ends that only a
// deadline brings with the files of a folder of testdata.
func exploreDeadlines(t *testing.T, folder string, runsOf func(machine.Table) []verify.Run) {
	t.Helper()
	for _, c := range library.Codons() {
		if len(c.Table.Rows) == 0 {
			continue
		}
		t.Run(c.Table.Name, func(t *testing.T) {
			t.Parallel()
			runs := runsOf(c.Table)
			if len(runs) == 0 {
				t.Skip("a table of one side, or of the long form")
			}
			result, err := verify.ExploreFair(c.Table.MustCompile(), runs...)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
			compareDeadlines(t, filepath.Join("testdata", folder, c.Table.Name+".txt"), runs, result.Deadlines)
		})
	}
}

// compareDeadlines compares the lines of a file that are about those runs. With -update it writes
// the file.
func compareDeadlines(t *testing.T, path string, runs []verify.Run, got []string) {
	t.Helper()
	if *kit.Update && len(got) > 0 {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // most tables need no deadline
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(file)) {
		if slices.ContainsFunc(runs, func(r verify.Run) bool { return strings.HasPrefix(line, r.Name+": ") }) {
			want = append(want, strings.TrimSuffix(line, "\n"))
		}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("the ends by a deadline have changed (-want +got); run with -update if that is meant:\n%s", d)
	}
}
