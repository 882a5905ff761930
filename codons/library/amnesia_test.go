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

	"github.com/ribosome-agents/ribosome/codons/internal/explore"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
)

// Each side ends although the other has lost its memory. testdata/amnesia has, by table, the pairs of states in which
// only a deadline brings the end. The large tables are part of the long form.
func TestExploreAmnesia(t *testing.T) {
	explore.Plain(t)
	for _, c := range library.Codons() {
		table := c.Table
		if len(table.Rows) == 0 {
			continue
		}
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			m := table.MustCompile()
			runs := verify.AmnesiaRuns(m)
			switch table.Name {
			case "task-delegation", "subscribe", "request-whenever", "english-auction", "dutch-auction":
				if !exhaustive.Enabled() && !*kit.Update {
					runs = runs[:1]
				}
			}
			if table.Name == "english-auction" && len(runs) > 2 {
				runs = runs[:2] // a crash after two rounds has more messages than a run can hold
			}
			if len(runs) == 0 {
				t.Skip("a table of one side")
			}
			result, err := verify.ExploreFair(m, runs...)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
			path := filepath.Join("testdata", "amnesia", table.Name+".txt")
			got := ""
			for _, line := range result.Deadlines {
				got += line + "\n"
			}
			if *kit.Update && got != "" {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			file, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // most tables need no deadline
				t.Fatal(err)
			}
			var want strings.Builder
			for line := range strings.Lines(string(file)) {
				for _, r := range runs {
					if strings.HasPrefix(line, r.Name+": ") {
						want.WriteString(line)
					}
				}
			}
			if d := cmp.Diff(want.String(), got); d != "" {
				t.Errorf("the ends by a deadline have changed (-want +got); run with -update if that is meant:\n%s", d)
			}
		})
	}
}

// Each side ends although the other has forgotten its replies or its state, and although an agent stops, or the deadlines of
// the other side pass. The normal run has the small tables. The auctions, subscriptions and task-delegation have too many states. A
// contract net that forgets its replies ends by its deadlines only: docs/rough-edges.md.
func TestExploreForgetfulRuns(t *testing.T) {
	explore.Plain(t)
	for _, c := range library.Codons() {
		table := c.Table
		if len(table.Rows) == 0 {
			continue
		}
		switch table.Name {
		case "propose", "whispering-wind", "notify":
		case "task-delegation", "subscribe", "request-whenever", "english-auction", "dutch-auction":
			continue
		default:
			if !exhaustive.Enabled() {
				continue
			}
		}
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			m := table.MustCompile()
			runs := slices.DeleteFunc(verify.ForgetfulRuns(m), func(r verify.Run) bool {
				return r.Forgets && strings.HasSuffix(table.Name, "contract-net")
			})
			if len(runs) == 0 {
				t.Skip("a table of one side")
			}
			result, err := verify.ExploreFair(m, runs...)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result)
		})
	}
}
