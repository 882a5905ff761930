package pydebug

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestUnifiedDiff(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"equal", "a\n", "a\n", ""},
		{"both empty", "", "", ""},
		{"insert into nothing", "", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"delete all", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"replace", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"no newline in either", "a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{"newline added", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"no newline in context", "a\nb", "A\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"},
		{"crlf", "a\r\nb\r\n", "a\r\nx\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\r\n+x\r\n b\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.TrimPrefix(Diff("x", tt.before, tt.after), "--- a/x\n+++ b/x\n")
			if got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestUnifiedDiffMakesTwoHunks(t *testing.T) {
	before := numbered(1, 40)
	after := strings.Replace(strings.Replace(before, "line 3\n", "", 1), "line 30\n", "line 30\nnew\n", 1)
	if n := strings.Count(Diff("x", before, after), "@@ -"); n != 2 {
		t.Errorf("%d hunks", n)
	}
}

// TestUnifiedDiffIsBounded: texts that have nothing in common are one hunk.
func TestUnifiedDiffIsBounded(t *testing.T) {
	racetest.Skip(t)
	diff := Diff("x", numbered(1, 3000), numbered(5000, 8000))
	if n := strings.Count(diff, "@@ -"); n != 1 {
		t.Errorf("%d hunks", n)
	}
}

func numbered(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// TestPatchApplies applies every diff of the corpus with patch, where there is one.
func TestPatchApplies(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Log("NOT PROVEN HERE: there is no patch to apply the diffs with")
		return
	}
	for _, c := range readCorpus(t) {
		d := diagnose(t, c.input())
		if d.Status != Fixed {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "script.py")
			if err := os.WriteFile(file, []byte(c.input().Code), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(patch, "--binary", "--fuzz=0", "-s", file)
			cmd.Stdin = strings.NewReader(d.Diff)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got, _ := os.ReadFile(file); string(got) != d.FixedCode {
				t.Errorf("patch made\n%q\nnot\n%q", got, d.FixedCode)
			}
		})
	}
}
