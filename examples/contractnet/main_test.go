package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// two is a problem small enough to solve by hand: Ada is expensive and has no margin,
// Bob is cheap and has a margin of half.
const two = `{"workers": [
	{"name": "Ada", "skills": ["roof"], "x": 0, "y": 0, "speed": 1, "rate": 10, "margin": 0},
	{"name": "Bob", "skills": ["roof", "wiring"], "x": 3, "y": 4, "speed": 1, "rate": 8, "margin": 0.5}],
"jobs": [
	{"name": "barn", "skill": "roof", "x": 3, "y": 4, "hours": 1},
	{"name": "shed", "skill": "wiring", "x": 3, "y": 3, "hours": 2}%s]}`

// files writes the files that the tests name and makes their folder the current one.
func files(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	worker := `{"name": %q, "skills": ["roof"], "speed": %s, "rate": 1}`
	problem := `{"workers": [%s], "jobs": [{"name": "barn", "skill": "roof"}]}`
	ada := fmt.Sprintf(worker, "Ada", "1")
	for name, text := range map[string]string{
		"two.json":      fmt.Sprintf(two, ""),
		"undone.json":   fmt.Sprintf(two, `, {"name": "pond", "skill": "digging", "x": 0, "y": 0, "hours": 1}`),
		"no.json":       "workers",
		"list.json":     "[]",
		"typo.json":     `{"wrokers": []}`,
		"more.json":     fmt.Sprintf(two, "") + "{}",
		"empty.json":    "{}",
		"jobless.json":  `{"workers": [` + ada + `], "jobs": []}`,
		"nameless.json": fmt.Sprintf(problem, fmt.Sprintf(worker, "", "1")),
		"twice.json":    fmt.Sprintf(problem, ada+","+fmt.Sprintf(worker, "ADA", "1")),
		"taken.json":    fmt.Sprintf(problem, fmt.Sprintf(worker, "Auctioneer", "1")),
		"lame.json":     fmt.Sprintf(problem, fmt.Sprintf(worker, "Ada", "0")),
		"huge.json":     fmt.Sprintf(problem, fmt.Sprintf(worker, "Ada", "1e300")),
		"large.json":    strings.Repeat(" ", maxFile+1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRun(t *testing.T) {
	files(t)
	for name, tt := range map[string]struct {
		args   string
		code   int
		stdout string // in it
		stderr string // in it
	}{
		"by chance": {"", 0, "\nratio ", ""},
		"one":       {"--workers 1 --jobs 1", 0, "ratio         1.000", ""},
		"most":      {"--workers 5 --jobs 20 --iterated", 0, "\njob 20 ", ""},
		"own file":  {"--file two.json", 0, "barn  roof    Bob     12.00  8.00   Bob 12.00, Ada 60.00\n", ""},
		"help":      {"--help", 0, "usage: contractnet", ""},
		"undone":    {"--file undone.json", 1, "nobody", "1 of 3 jobs were left undone"},
		"no time":   {"--deadline 1ns", 1, "", "longer --deadline"},

		"no jobs":       {"--jobs 0", 2, "", "want 1 to 20"},
		"many jobs":     {"--jobs 21", 2, "", "want 1 to 20"},
		"no workers":    {"--workers 0", 2, "", "want 1 to 5"},
		"many workers":  {"--workers 6", 2, "", "want 1 to 5"},
		"odd seed":      {"--seed -1", 2, "", "--help"},
		"zero deadline": {"--deadline 0", 2, "", "such as 30s"},
		"unknown flag":  {"--fast", 2, "", "--help"},
		"argument":      {"two.json", 2, "", "--file"},
		"file and seed": {"--file two.json --seed 3", 2, "", "leave --jobs, --workers and --seed out"},
		"empty name":    {"--file=", 2, "", "leave the flag out"},
		"missing file":  {"--file nope", 2, "", "--file nope: no such file or directory"},
		"folder":        {"--file .", 2, "", "is a directory"},
		"no JSON":       {"--file no.json", 2, "", "no workers and jobs in JSON"},
		"a list":        {"--file list.json", 2, "", "no workers and jobs in JSON"},
		"typo":          {"--file typo.json", 2, "", `"wrokers"`},
		"more":          {"--file more.json", 2, "", "more after the JSON"},
		"empty":         {"--file empty.json", 2, "", "0 workers"},
		"jobless":       {"--file jobless.json", 2, "", "0 jobs"},
		"nameless":      {"--file nameless.json", 2, "", "worker 1"},
		"twice":         {"--file twice.json", 2, "", `worker 2: the name "ADA" is taken`},
		"taken":         {"--file taken.json", 2, "", "is taken"},
		"lame":          {"--file lame.json", 2, "", "want a speed"},
		"huge":          {"--file huge.json", 2, "", "want a speed"},
		"large":         {"--file large.json", 2, "", "larger than"},
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

// TestFollowedByHand compares the report with a solution by hand: Bob, at the location of
// the jobs, costs 8 an hour and bids half more.
func TestFollowedByHand(t *testing.T) {
	files(t)
	want := `{"iterated":false,"jobs":[` +
		`{"job":"barn","skill":"roof","bids":[{"worker":"Bob","price":12},{"worker":"Ada","price":60}],"winner":"Bob","rounds":1,"price":12,"cost":8},` +
		`{"job":"shed","skill":"wiring","bids":[{"worker":"Bob","price":36}],"winner":"Bob","rounds":1,"price":36,"cost":24}],` +
		`"price":48,"cost":32,"optimum":32,"ratio":1,"undone":0}`
	r := runs(t.Context(), t, "--file", "two.json", "--json")
	var got bytes.Buffer
	if err := json.Compact(&got, []byte(r.stdout)); err != nil || got.String() != want {
		t.Errorf("%v\n got %s\nwant %s", err, &got, want)
	}
}

func TestTheSameSeedDoesTheSame(t *testing.T) {
	for _, args := range []string{"--seed 5", "--seed 5 --iterated --json"} {
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
	for _, output := range []string{"--json=false", "--json"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		program := exec.CommandContext(t.Context(), os.Args[0], output)
		program.Env = append(os.Environ(), asProgram+"=1")
		var stderr bytes.Buffer
		program.Stdout, program.Stderr = w, &stderr
		if err := program.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v, %s", output, err, &stderr)
		}
		_ = w.Close()
	}
}

// full is a writer that fails as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestFullDisk(t *testing.T) {
	for _, output := range []string{"--json=false", "--json"} {
		var stderr bytes.Buffer
		if code := run(t.Context(), []string{output}, full{}, &stderr); code != program.ExitFailed || !strings.Contains(stderr.String(), "not complete") {
			t.Errorf("%s: exit code %d, %s", output, code, &stderr)
		}
	}
}
