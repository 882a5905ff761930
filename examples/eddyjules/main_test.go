package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// asProgram is the environment variable that makes the test binary run main.
const asProgram = "EDDYJULES_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	leakcheck.Main(m)
}

// ran is the outcome of a run.
type ran struct {
	code           int
	stdout, stderr string
}

func runs(t *testing.T, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	r := ran{code, stdout.String(), stderr.String()}
	r.check(t)
	return r
}

// check checks stderr: one line after a failure, else nothing.
func (r ran) check(t *testing.T) {
	t.Helper()
	if lines := strings.Count(r.stderr, "\n"); lines != min(r.code, 1) {
		t.Errorf("exit code %d with %d lines on stderr: %q", r.code, lines, r.stderr)
	}
	if r.code != program.ExitDone && !strings.HasPrefix(r.stderr, "eddyjules: ") {
		t.Errorf("stderr does not say who speaks: %q", r.stderr)
	}
}

// files writes the files that the tests name and makes their folder the current one.
func files(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	sample := pydebug.Sample()
	for name, text := range map[string]string{
		"my logs.py":  sample.Code,
		"error.txt":   sample.Traceback,
		"other.py":    "x = 1\nprint(x)\n",
		"empty":       "",
		"binary":      "\x00\x01\xff\xfe",
		"latin1.py":   "# caf\xe9\n",
		"huge":        strings.Repeat("#\n", pydebug.MaxCode),
		"broken.py":   "x = int('a')\n",
		"broken.txt":  "Traceback (most recent call last):\n  File \"broken.py\", line 1, in <module>\n    x = int('a')\nValueError: invalid literal for int() with base 10: 'a'\n",
		"unreadable":  "x",
		"directory/x": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod("unreadable", 0); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	files(t)
	t.Setenv("PATH", "") // no python3
	for name, tt := range map[string]struct {
		args   []string
		code   int
		stdout string // in it
		stderr string // in it
	}{
		"sample":            {nil, 0, "That script is built in.", ""},
		"own files":         {[]string{"--code", "my logs.py", "--traceback", "error.txt"}, 0, "--code script.py --traceback error.txt | patch script.py\n", ""},
		"named in the diff": {[]string{"--code", "./my logs.py", "--traceback", "error.txt"}, 0, "\n  --- a/my logs.py\n  +++ b/my logs.py\n", ""},
		"chaos":             {[]string{"--chaos"}, 0, "! Jules's worker panicked: chaos while ", ""},
		"chaos, one step":   {[]string{"--chaos", "--code", "other.py"}, 0, "FAILURE", ""},
		"no traceback":      {[]string{"--code", "my logs.py"}, 0, "python3 script.py 2> error.txt\n", ""},
		"no code":           {[]string{"--traceback", "error.txt"}, 0, "Run this again with the script:\n    go run ./examples/eddyjules --code script.py --traceback error.txt\n", ""},
		"mismatch":          {[]string{"--code", "other.py", "--traceback", "error.txt"}, 0, "python3 script.py 2> error.txt\n", ""},
		"empty files":       {[]string{"--code", "empty", "--traceback", "empty"}, 0, "What is needed from you\n", ""},
		"empty traceback":   {[]string{"--code", "my logs.py", "--traceback", "empty"}, 0, "The traceback is missing.", ""},
		"no fix":            {[]string{"--code", "broken.py", "--traceback", "broken.txt"}, 1, "What was found\n", "no fix was found"},
		"too little time":   {[]string{"--deadline", "1ns"}, 1, "No result.\n", "longer --deadline"},
		"help":              {[]string{"--help"}, 0, "usage: eddyjules", ""},

		"missing file":      {[]string{"--code", "nope"}, 2, "", "--code nope: no such file or directory; name a text file"},
		"missing traceback": {[]string{"--code", "other.py", "--traceback", "nope"}, 2, "", "--traceback nope: no such file"},
		"directory":         {[]string{"--code", "directory"}, 2, "", "--code directory: is a directory"},
		"binary":            {[]string{"--code", "binary"}, 2, "", "not a text file in UTF-8"},
		"latin 1":           {[]string{"--code", "latin1.py"}, 2, "", "not a text file in UTF-8"},
		"huge":              {[]string{"--traceback", "huge"}, 2, "", "--traceback huge: larger than 1048576 bytes"},
		"empty name":        {[]string{"--code="}, 2, "", "leave the flag out"},
		"unknown flag":      {[]string{"--fast"}, 2, "", "--help"},
		"argument":          {[]string{"other.py"}, 2, "", `unexpected argument "other.py"; name the script with --code`},
		"argument in lines": {[]string{"a\nb"}, 2, "", "unexpected argument"},
		"no time":           {[]string{"--deadline", "0"}, 2, "", "such as 30s"},
		"negative time":     {[]string{"--deadline", "-1s"}, 2, "", "such as 30s"},
		"time in words":     {[]string{"--deadline", "soon"}, 2, "", "--help"},
		"verify, no python": {[]string{"--verify"}, 2, "", "--verify needs python3"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, tt.args...)
			if r.code != tt.code || !strings.Contains(r.stdout, tt.stdout) || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d; stdout, want %q:\n%s\nstderr, want %q: %s", r.code, tt.code, tt.stdout, r.stdout, tt.stderr, r.stderr)
			}
			if r.code == program.ExitUsage && r.stdout != "" {
				t.Errorf("called wrongly, it still printed %q", r.stdout)
			}
		})
	}
	t.Run("unreadable", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root reads everything")
		}
		if r := runs(t, "--code", "unreadable"); r.code != program.ExitUsage || !strings.Contains(r.stderr, "permission denied") {
			t.Errorf("got %+v", r)
		}
	})
}
