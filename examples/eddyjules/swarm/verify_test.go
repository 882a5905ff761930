//go:build unix

package swarm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
)

// raises is a script for sh that ends like a failed Python script.
const raises = `printf 'Traceback (most recent call last):\n  File "x.py", line 19, in parse\nIndexError: list index out of range\n' >&2; exit 1`

// putPython makes a script for sh the python3 of the PATH, and its only program. $source
// is the source of the Python script. An empty script leaves the PATH without python3.
func putPython(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if script == "" {
		return
	}
	script = "#!/bin/sh\nfor source; do :; done\nsource=$(cat \"$source\")\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		python   string
		status   performatives.TaskStatus
		tests    *bool
		analysis string
	}{
		"passes":         {`case $source in *continue*) exit 0;; esac; ` + raises, performatives.StatusSuccess, &yes, ""},
		"still fails":    {raises, performatives.StatusFailure, &no, "then ended with IndexError:\n--- a/parse_logs.py"},
		"exits":          {`case $source in *continue*) exit 3;; esac; ` + raises, performatives.StatusFailure, &no, "then ended with exit code 3"},
		"not reproduced": {`exit 0`, performatives.StatusSuccess, nil, "the original ended with exit code 0, not with IndexError"},
		"no python3":     {"", performatives.StatusSuccess, nil, "no python3"},
	} {
		t.Run(name, func(t *testing.T) {
			putPython(t, tt.python)
			var steps []string
			r, err := swarm.Offline{Verify: true}.Debug(t.Context(), sample(), func(s string) { steps = append(steps, s) })
			if err != nil {
				t.Fatal(err)
			}
			f := finding(t, r)
			if r.Status != tt.status || (f.TestsPassed == nil) != (tt.tests == nil) || tt.tests != nil && *f.TestsPassed != *tt.tests {
				t.Errorf("got %s, tests passed %v", r.Status, f.TestsPassed)
			}
			if !strings.Contains(f.Analysis, tt.analysis) || (f.Analysis == "") != (tt.analysis == "") {
				t.Errorf("got the analysis %q; want %q in it", f.Analysis, tt.analysis)
			}
			fix := []string{f.FixedCode, f.Diff, f.Explanation}
			if fixed := r.Status == performatives.StatusSuccess; slices.ContainsFunc(fix, func(part string) bool { return (part != "") != fixed }) {
				t.Errorf("%s with the fix %q", r.Status, fix)
			}
			if !strings.Contains(strings.Join(steps, "; "), "running the original and the fixed script") {
				t.Errorf("reported %q", steps)
			}
		})
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	putPython(t, "exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := swarm.Offline{Verify: true}.Debug(ctx, sample(), func(step string) {
		if strings.HasPrefix(step, "running") {
			cancel()
		}
	})
	if err == nil {
		t.Error("there is a result of what was cancelled")
	}
}

func TestVerifyWithPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	r, err := swarm.Offline{Verify: true}.Debug(t.Context(), sample(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if f := finding(t, r); f.TestsPassed == nil || !*f.TestsPassed {
		t.Errorf("got %+v", f)
	}
}
