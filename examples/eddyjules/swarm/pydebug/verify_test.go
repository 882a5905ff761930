package pydebug

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// fake returns options that run scripts for the fake interpreter of main_test.go.
func fake(t *testing.T, original, fixed string) VerifyOptions {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return VerifyOptions{
		Original: original, Fixed: fixed, ErrorType: "IndexError",
		Interpreter: []string{self, fakeFlag}, Timeout: 30 * time.Second,
	}
}

func verify(t *testing.T, o VerifyOptions) VerifyResult {
	t.Helper()
	v, err := Verify(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerifyJudges(t *testing.T) {
	racetest.Skip(t)
	const fails = "print before\nraise IndexError: list index out of range"
	tests := []struct {
		name, original, fixed string
		exit                  int
		reproduced, passed    bool
	}{
		{"fixed", fails, "print fine", 0, true, true},
		{"original runs", "print fine", "print fine", 0, false, false},
		{"another error", "raise KeyError: 'x'", "print fine", 0, false, false},
		{"fixed fails the same", fails, fails, 0, true, false},
		{"fixed fails differently", fails, "raise TypeError: no", 0, true, false},
		{"fixed exits with another code", fails, "exit 3", 0, true, false},
		{"fixed exits as promised", fails, "exit 1", 1, true, true},
		{"promised exit missing", fails, "print fine", 1, true, false},
		{"an exception isn't a promised exit", fails, "raise KeyError: 'x'", 1, true, false},
		{"original only exits", "exit 1", "print fine", 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := fake(t, tt.original, tt.fixed)
			o.ExitCode = tt.exit
			v := verify(t, o)
			if v.Reproduced != tt.reproduced || v.Passed != tt.passed {
				t.Errorf("reproduced %v, passed %v: %+v", v.Reproduced, v.Passed, v)
			}
		})
	}
}

func TestVerifyReportsTheRun(t *testing.T) {
	racetest.Skip(t)
	v := verify(t, fake(t, "print before\nraise IndexError: list index out of range", "print after"))
	o := v.Original
	if o.ExitCode != 1 || o.ErrorType != "IndexError" || o.ErrorMessage != "list index out of range" || o.Stdout != "before\n" || o.TimedOut {
		t.Errorf("original %+v", o)
	}
	if v.Fixed.ExitCode != 0 || v.Fixed.Stdout != "after\n" {
		t.Errorf("fixed %+v", v.Fixed)
	}
}

func TestVerifyIsolatesTheScript(t *testing.T) {
	racetest.Skip(t)
	t.Setenv("PYDEBUG_SECRET", "hush")
	o := fake(t, "raise IndexError: x", "where\nargs\nstdin\nenv")
	o.Args = []string{"one"}
	got := verify(t, o).Fixed.Stdout
	if !strings.HasPrefix(got, "true\n[one]\n0 EOF\n") {
		t.Errorf("printed %q", got)
	}
	if strings.Contains(got, "hush") {
		t.Error("the script sees the environment of the test")
	}
}

func TestVerifyBoundsOutput(t *testing.T) {
	racetest.Skip(t)
	if n := len(verify(t, fake(t, "raise IndexError: x", "flood")).Fixed.Stdout); n != maxOutput {
		t.Errorf("kept %d bytes", n)
	}
}

func TestBufferKeepsTheEnd(t *testing.T) {
	b := &boundedBuffer{limit: 4, last: true}
	for _, s := range []string{"ab", "cdefghijk", "l", "m"} {
		if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if string(b.data) != "jklm" {
		t.Errorf("kept %q", b.data)
	}
}

func TestVerifyEndsWhatHangs(t *testing.T) {
	racetest.Skip(t)
	o := fake(t, "hang", "print fine")
	o.Timeout = 200 * time.Millisecond
	v := verify(t, o)
	if !v.Original.TimedOut || v.Reproduced || v.Passed {
		t.Errorf("%+v", v)
	}
}

func TestVerifyWithoutPython(t *testing.T) {
	o := VerifyOptions{Original: "x", Fixed: "y", Interpreter: []string{filepath.Join(t.TempDir(), "python3")}}
	if _, err := Verify(context.Background(), o); !errors.Is(err, ErrNoPython) {
		t.Errorf("got %v", err)
	}
}

func TestVerifyHonoursCancellation(t *testing.T) {
	racetest.Skip(t)
	listener := listen(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("no longer wanted")
	go func() {
		if conn, err := listener.Accept(); err == nil {
			cancel(stop)
			_ = conn.Close()
		}
	}()
	o := fake(t, "child", "print fine")
	o.Args = []string{listener.Addr().String()}
	if _, err := Verify(ctx, o); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
