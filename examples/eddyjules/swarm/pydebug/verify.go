package pydebug

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoPython means that the interpreter was not found or could not be started.
var ErrNoPython = errors.New("pydebug: no python3 found")

// DefaultTimeout is the default of [VerifyOptions].Timeout.
const DefaultTimeout = 10 * time.Second

// maxOutput is the number of bytes that are kept of each stream of a run.
const maxOutput = 64 << 10

// VerifyOptions configures [Verify].
type VerifyOptions struct {
	// Original and Fixed are the two sources.
	Original, Fixed string
	// ErrorType is the exception that Original is expected to raise, such as
	// "IndexError".
	ErrorType string
	// ExitCode is the expected exit code of Fixed; see [Diagnosis].ExitCode.
	ExitCode int
	// Interpreter is the program that runs a script, with the arguments before the name of the
	// script. Nil means python3 -I -B: no site-packages of the user, no PYTHON* variables, no .pyc
	// files.
	Interpreter []string
	// Args are the arguments of the script.
	Args []string
	// Timeout bounds each run; zero means [DefaultTimeout].
	Timeout time.Duration
}

func (o VerifyOptions) withDefaults() (VerifyOptions, error) {
	if o.Interpreter == nil {
		o.Interpreter = []string{"python3", "-I", "-B"}
	}
	if _, err := exec.LookPath(o.Interpreter[0]); err != nil {
		return o, fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return o, nil
}

// RunResult is the outcome of one run.
type RunResult struct {
	// ExitCode is -1 if a signal or the timeout ended the run.
	ExitCode int
	TimedOut bool
	// ErrorType and ErrorMessage are the last exception on stderr; empty if
	// there was none.
	ErrorType, ErrorMessage string
	// Stdout is the beginning of stdout, Stderr the end of stderr.
	Stdout, Stderr string
}

// VerifyResult is the outcome of both runs.
type VerifyResult struct {
	Original, Fixed RunResult
	// Reproduced means that the original raised the reported error.
	Reproduced bool
	// Passed means Reproduced, and that the fixed script raised nothing and
	// ended with the expected exit code.
	Passed bool
}

// Verify runs the original and the fixed script, one after the other, each in
// an empty folder of its own with a minimal environment and without stdin. It
// executes the scripts with the rights of this process: it bounds time and
// output, and is no sandbox.
//
// It blocks until both runs have ended. When ctx ends, it kills the run and the
// processes that the run started, and returns the cause of ctx. The error is
// [ErrNoPython] if there is no interpreter.
func Verify(ctx context.Context, options VerifyOptions) (VerifyResult, error) {
	o, err := options.withDefaults()
	if err != nil {
		return VerifyResult{}, err
	}
	var v VerifyResult
	if v.Original, err = o.run(ctx, o.Original); err != nil {
		return v, err
	}
	v.Reproduced = v.Original.ExitCode != 0 && !v.Original.TimedOut && v.Original.ErrorType == o.ErrorType && o.ErrorType != ""
	if v.Fixed, err = o.run(ctx, o.Fixed); err != nil {
		return v, err
	}
	v.Passed = v.Reproduced && v.Fixed.ErrorType == "" && v.Fixed.ExitCode == o.ExitCode && !v.Fixed.TimedOut
	return v, nil
}

// run executes one source in a folder of its own.
func (o VerifyOptions) run(ctx context.Context, source string) (RunResult, error) {
	dir, err := os.MkdirTemp("", "pydebug-")
	if err != nil {
		return RunResult{}, fmt.Errorf("pydebug: making a folder for the run: %w", err)
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "script.py")
	if err := os.WriteFile(script, []byte(source), 0o600); err != nil {
		return RunResult{}, fmt.Errorf("pydebug: writing the script: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	stdout, stderr := &boundedBuffer{limit: maxOutput}, &boundedBuffer{limit: maxOutput, last: true} // a traceback is at the end
	cmd := exec.CommandContext(limited, o.Interpreter[0], slices.Concat(o.Interpreter[1:], []string{script}, o.Args)...)
	cmd.Dir, cmd.Env = dir, minimalEnv(dir)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = time.Second
	killGroup(cmd)
	err = cmd.Run()
	endGroup(cmd)
	if cause := context.Cause(ctx); cause != nil {
		return RunResult{}, cause
	}
	return o.result(cmd, err, limited.Err() != nil, string(stdout.data), string(stderr.data))
}

// minimalEnv returns the environment of a run. That of this process may hold
// secrets, and is not passed on.
func minimalEnv(dir string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "TZ=UTC"}
}

func (o VerifyOptions) result(cmd *exec.Cmd, err error, timedOut bool, stdout, stderr string) (RunResult, error) {
	var exit *exec.ExitError
	if err != nil && cmd.ProcessState == nil && !errors.As(err, &exit) {
		return RunResult{}, fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	r := RunResult{ExitCode: cmd.ProcessState.ExitCode(), TimedOut: timedOut, Stdout: stdout, Stderr: stderr}
	if r.ExitCode != 0 && strings.Contains(stderr, "Error") || strings.Contains(stderr, tracebackHeader) {
		if tb := readTraceback(stderr); tb != nil {
			r.ErrorType, r.ErrorMessage = tb.kind, tb.message
		}
	}
	return r, nil
}

// boundedBuffer keeps the first limit bytes that are written to it, or the last ones.
type boundedBuffer struct {
	limit int
	last  bool
	data  []byte
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.last {
		b.data = append(b.data, p[max(0, len(p)-b.limit):]...)
		b.data = b.data[max(0, len(b.data)-b.limit):]
	} else {
		b.data = append(b.data, p[:min(len(p), b.limit-len(b.data))]...)
	}
	return len(p), nil
}
