package leakcheck_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

// childEnv is the environment variable that selects the case of a re-executed test binary.
const childEnv = "LEAKCHECK_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run()) // without leakcheck.Main, which is under test
	case "before":
		go leakForever()
	}
	leakcheck.Main(m)
}

func leakForever() { select {} }

func otherLeak() { select {} }

// FuzzChild is run by the re-executed binary, as a coordinator and its workers.
func FuzzChild(f *testing.F) {
	f.Add("")
	worker := flag.Lookup("test.fuzzworker").Value.String() == "true"
	f.Fuzz(func(*testing.T, string) {
		if worker && os.Getenv(childEnv) == "leaking worker" {
			go leakForever()
		}
	})
}

// TestChild is run by the re-executed binary. In any other process it does nothing.
func TestChild(t *testing.T) {
	switch os.Getenv(childEnv) {
	case "leak":
		go leakForever()
	case "two leaks":
		go leakForever()
		go otherLeak()
	case "fail":
		go leakForever()
		t.Error("this test fails by itself")
	case "late":
		go func() { <-time.After(300 * time.Millisecond) }()
	case "signal":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		signal.Stop(c)
	}
}

func TestMainReportsLeaks(t *testing.T) {
	tests := []struct {
		child string
		code  int
		want  []string // in the output
		never string   // not in the output
	}{
		{child: "nothing", code: 0, never: "leakcheck:"},
		{child: "leak", code: 1, want: []string{"leakcheck:", "leakForever", "created by"}},
		{child: "two leaks", code: 1, want: []string{"leakForever", "otherLeak"}},
		{child: "fail", code: 1, want: []string{"fails by itself"}, never: "leakcheck:"},
		{child: "late", code: 0, never: "leakcheck:"},
		{child: "before", code: 0, never: "leakcheck:"},
		{child: "signal", code: 0, never: "leakcheck:"},
	}
	for _, tt := range tests {
		t.Run(tt.child, func(t *testing.T) {
			t.Parallel()
			code, out := reexec(t, tt.child, "-test.run=^TestChild$")
			if code != tt.code {
				t.Errorf("exit code %d, want %d; output:\n%s", code, tt.code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
			if tt.never != "" && strings.Contains(out, tt.never) {
				t.Errorf("output has %q:\n%s", tt.never, out)
			}
		})
	}
}

func TestMainDoesNotWaitWithoutLeaks(t *testing.T) {
	took := leakcheck.Grace
	for range 5 { // a busy machine may take as long, now and then
		start := time.Now()
		if code, out := reexec(t, "nothing", "-test.run=^TestChild$"); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		if took = time.Since(start); took < leakcheck.Grace {
			return
		}
	}
	t.Errorf("a clean binary took %v, as long as the grace of a leaking one", took)
}

// TestMainUnderFuzzing runs a coordinator and its workers. A worker's leak is not reported,
// because the coordinator kills the worker before Grace has passed.
func TestMainUnderFuzzing(t *testing.T) {
	for _, child := range []string{"nothing", "leaking worker"} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			code, out := reexec(t, child,
				"-test.run=^$", "-test.fuzz=^FuzzChild$", "-test.fuzztime=200x", "-test.parallel=2",
				"-test.fuzzcachedir="+t.TempDir())
			if code != 0 || strings.Contains(out, "leakcheck:") {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}

func TestMainLists(t *testing.T) {
	code, out := reexec(t, "nothing", "-test.list=^TestChild$")
	if code != 0 || strings.TrimSpace(out) != "TestChild" {
		t.Errorf("exit code %d, output %q, want only TestChild", code, out)
	}
}

func reexec(t *testing.T, child string, args ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), childEnv+"="+child, "GORACE=atexit_sleep_ms=0") // the race detector sleeps for a second at exit by default
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running this test binary again: %v", err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
