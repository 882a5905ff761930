package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// asProgram is the environment variable that makes the test binary run main.
const asProgram = "CONTRACTNET_AS_PROGRAM"

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

// runs runs the program and checks stderr: one line after a failure, else nothing.
func runs(ctx context.Context, t *testing.T, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	r := ran{code: run(ctx, args, &stdout, &stderr)}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	if lines := strings.Count(r.stderr, "\n"); lines != min(r.code, 1) {
		t.Errorf("exit code %d with %d lines on stderr: %q", r.code, lines, r.stderr)
	}
	if r.code != program.ExitDone && !strings.HasPrefix(r.stderr, "contractnet: ") {
		t.Errorf("stderr does not say who speaks: %q", r.stderr)
	}
	return r
}

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		args   string
		code   int
		stdout string // in it
		stderr string // in it
	}{
		"by chance": {"", 0, "\ncost ", ""},
		"one":       {"--workers 1 --jobs 1", 0, "\njob 1  ", ""},
		"most":      {"--workers 5 --jobs 20 --iterated", 0, "\njob 20 ", ""},
		"help":      {"--help", 0, "usage: contractnet", ""},
		"no time":   {"--deadline 1ns", 1, "", "longer --deadline"},

		"no jobs":       {"--jobs 0", 2, "", "want 1 to 20"},
		"many jobs":     {"--jobs 21", 2, "", "want 1 to 20"},
		"no workers":    {"--workers 0", 2, "", "want 1 to 5"},
		"many workers":  {"--workers 6", 2, "", "want 1 to 5"},
		"odd seed":      {"--seed -1", 2, "", "--help"},
		"zero deadline": {"--deadline 0", 2, "", "such as 30s"},
		"unknown flag":  {"--fast", 2, "", "--help"},
		"argument":      {"two.json", 2, "", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t.Context(), t, strings.Fields(tt.args)...)
			if r.code != tt.code || !strings.Contains(r.stdout, tt.stdout) || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d; stdout, want %q:\n%s\nstderr, want %q: %s", r.code, tt.code, tt.stdout, r.stdout, tt.stderr, r.stderr)
			}
			if r.code == program.ExitUsage && r.stdout != "" {
				t.Errorf("called wrongly, it still printed %q", r.stdout)
			}
		})
	}
}

func TestTheSameSeedDoesTheSame(t *testing.T) {
	for _, args := range []string{"--seed 5", "--seed 5 --iterated"} {
		first := runs(t.Context(), t, strings.Fields(args)...)
		if again := runs(t.Context(), t, strings.Fields(args)...); again != first {
			t.Errorf("%s: first\n%s\nthen\n%s", args, first.stdout, again.stdout)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := runs(ctx, t); r.code != program.ExitFailed || !strings.Contains(r.stderr, "interrupted") || r.stdout != "" {
		t.Errorf("got %+v", r)
	}
}

// The program runs as a process, because only a write to stdout raises SIGPIPE.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer func() { _ = w.Close() }()
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), asProgram+"=1")
	var stderr bytes.Buffer
	program.Stdout, program.Stderr = w, &stderr
	if err := program.Run(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s", err, &stderr)
	}
}

// full is a writer that fails as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	if code := run(t.Context(), nil, full{}, &stderr); code != program.ExitFailed || !strings.Contains(stderr.String(), "not complete") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}
