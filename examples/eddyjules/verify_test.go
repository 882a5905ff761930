package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// raises is a script for sh that ends like a failed Python script.
const raises = `printf 'Traceback (most recent call last):\n  File "x.py", line 19, in parse\nIndexError: list index out of range\n' >&2; exit 1`

// putPython makes a script for sh the python3 of the PATH, and its only program. $source
// is the source of the Python script.
func putPython(t *testing.T, script string) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	script = "#!/bin/sh\nfor source; do :; done\nsource=$(cat \"$source\")\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	for name, tt := range map[string]struct {
		python string
		args   []string
		code   int
		stdout string
	}{
		"passes":          {`case $source in *continue*) exit 0;; esac; ` + raises, nil, 0, "Verified with python3\n"},
		"passes in chaos": {`case $source in *continue*) exit 0;; esac; ` + raises, []string{"--chaos", "--messages"}, 0, `"tests_passed":true`},
		"fails":           {raises, nil, 1, "This change was tried and taken back"},
		"not reproduced":  {`exit 0`, nil, 0, "The fix was not verified"},
		"takes too long":  {`exec sleep 60`, []string{"--deadline", "300ms"}, 1, "No result.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			putPython(t, tt.python)
			r := runs(t, append(tt.args, "--verify")...)
			if r.code != tt.code || !strings.Contains(r.stdout, tt.stdout) {
				t.Errorf("exit code %d, want %d; stdout, want %q:\n%s\n%s", r.code, tt.code, tt.stdout, r.stdout, r.stderr)
			}
			if verified := strings.Contains(r.stdout, "Verified with"); verified && name != "passes" {
				t.Error("it says that it verified")
			}
		})
	}
}
