package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// asProgram is the environment variable that makes the test binary run main.
const asProgram = "APPROVAL_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	leakcheck.Main(m)
}

// silence returns an input without data, which ends with the test.
func silence(t *testing.T) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return r
}

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		args           []string
		stdin          string // "-": silence
		code           int
		stdout, stderr string // in it
		left           int    // files
	}{
		"yes":             {nil, "y\n", program.ExitDone, "Deleted 3 files, as Person approved. 0 files left.\n", "", 0},
		"yes and why":     {nil, "Yes, they are old\n", program.ExitDone, "Deleted 3 files, as Person approved (they are old). 0 files left.\n", "", 0},
		"without newline": {nil, "y", program.ExitDone, "Deleted 3 files", "", 0},
		"no":              {nil, "n\n", exitDenied, "Nothing was deleted: Person said no. 3 files left.\n", "", 3},
		"no and why":      {nil, "no not today\n", exitDenied, "Person said no (not today). 3 files left.\n", "", 3},
		"only enter":      {nil, "\ny\n", exitDenied, "Person said no. 3 files left.\n", "", 3},
		"unclear, yes":    {nil, "what?\nyesterday\ny\n", program.ExitDone, "That is neither y nor n.\n", "", 0},
		"unclear, end":    {nil, "what?\n", exitDenied, "Person said no (nobody is there to answer: the input has ended). 3 files left.\n", "", 3},
		"end at once":     {nil, "", exitDenied, "the input has ended", "", 3},
		"a line too long": {nil, strings.Repeat("y", 1<<20), exitDenied, "the input has ended", "", 3},
		"no answer":       {[]string{"--deadline", "100ms"}, "-", exitDenied, "no answer came in time, and that means no. 3 files left.\n", "", 3},
		"the question":    {nil, "y\n", program.ExitDone, "Janitor wants to delete 3 files in ", "", 0},
		"listed":          {nil, "n\n", exitDenied, "log-3.txt\nApprove?", "", 3},

		"help":         {[]string{"--help"}, "", program.ExitDone, "usage: approval", "", -1},
		"unknown flag": {[]string{"--fast"}, "", program.ExitUsage, "", "--help lists the flags", -1},
		"argument":     {[]string{"x"}, "", program.ExitUsage, "", `unexpected argument "x"`, -1},
		"no time":      {[]string{"--deadline", "0s"}, "", program.ExitUsage, "", "leaves no time", -1},
		"too patient":  {[]string{"--deadline", "2562047h47m"}, "", program.ExitUsage, "", "want at most 24h", -1},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			var stdin io.Reader = strings.NewReader(tt.stdin)
			if tt.stdin == "-" {
				stdin = silence(t)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append(tt.args, "--keep"), stdin, &stdout, &stderr)
			if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("exit code %d, want %d; stdout:\n%s\nstderr:\n%s", code, tt.code, &stdout, &stderr)
			}
			if says := code == program.ExitFailed || code == program.ExitUsage; says != (strings.Count(stderr.String(), "\n") == 1) {
				t.Errorf("exit code %d with stderr %q", code, &stderr)
			}
			if files, err := filepath.Glob(filepath.Join(tmp, "approval-*", "*")); err != nil || len(files) != max(tt.left, 0) {
				t.Errorf("%d files are left, want %d (%v)", len(files), tt.left, err)
			}
		})
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	for _, answer := range []string{"y\n", "n\n"} {
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		run(t.Context(), nil, strings.NewReader(answer), io.Discard, io.Discard)
		if entries, err := os.ReadDir(tmp); err != nil || len(entries) != 0 {
			t.Errorf("after %q: %v, %v", answer, entries, err)
		}
	}
}

// trigger is a writer that calls do once, when the text on has been written to it.
type trigger struct {
	on   string
	do   func()
	mu   sync.Mutex
	text strings.Builder
	done bool
}

func (w *trigger) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), w.on) {
		w.done = true
		w.do()
	}
	return len(p), nil
}

func TestInterrupted(t *testing.T) {
	for name, interrupt := range map[string]func(context.CancelFunc) error{
		"by its caller": func(cancel context.CancelFunc) error { cancel(); return nil },
		"by a signal": func(context.CancelFunc) error {
			self, err := os.FindProcess(os.Getpid())
			return errors.Join(err, self.Signal(os.Interrupt))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stdout := &trigger{on: "Approve?", do: func() {
				if err := interrupt(cancel); err != nil {
					t.Error(err)
				}
			}}
			var stderr bytes.Buffer
			code := run(ctx, []string{"--keep"}, silence(t), stdout, &stderr)
			if code != program.ExitFailed || stderr.String() != "approval: interrupted; without approval nothing is deleted\n" {
				t.Errorf("exit code %d, stderr %q", code, &stderr)
			}
			if files, err := filepath.Glob(filepath.Join(tmp, "approval-*", "*")); err != nil || len(files) != 3 {
				t.Errorf("%v, %v", files, err)
			}
		})
	}
}

// full is a writer that fails as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// If the question can't be shown, the files are kept, even if the input approves.
func TestQuestionThatCannotBeShown(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"--keep"}, strings.NewReader("y\n"), full{}, &stderr)
	if code != program.ExitFailed || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if files, err := filepath.Glob(filepath.Join(tmp, "approval-*", "*")); err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestProgram runs the program as a process, with a pipe as its input.
func TestProgram(t *testing.T) {
	for answer, want := range map[string]int{"y\n": program.ExitDone, "n\n": exitDenied, "": exitDenied} {
		program := exec.CommandContext(t.Context(), os.Args[0])
		program.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+t.TempDir())
		program.Stdin = strings.NewReader(answer)
		out, err := program.Output()
		if got := program.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), " left.\n") {
			t.Errorf("%q: exit code %d, want %d: %v\n%s", answer, got, want, err, out)
		}
	}
}
