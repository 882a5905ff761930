package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ribosome-agents/ribosome/examples/program"
)

// trigger is a writer that calls do once, when the text on has been written to it.
type trigger struct {
	on string
	do func()

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
		for _, output := range []string{"--messages=false", "--messages"} {
			t.Run(name+" "+output, func(t *testing.T) {
				putPython(t, "exec sleep 60")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stdout := &trigger{on: "running the original", do: func() {
					if err := interrupt(cancel); err != nil {
						t.Error(err)
					}
				}}
				var stderr bytes.Buffer
				code := run(ctx, []string{"--verify", output}, stdout, &stderr)
				r := ran{code, stdout.text.String(), stderr.String()}
				r.check(t)
				if r.code != program.ExitFailed || !strings.Contains(r.stderr, "interrupted") || !strings.Contains(r.stdout, "CANCEL") {
					t.Errorf("got %+v", r)
				}
			})
		}
	}
}

// The program runs as a process, because only a write to stdout raises SIGPIPE.
func TestClosedPipe(t *testing.T) {
	for _, output := range []string{"--messages=false", "--messages"} {
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

func (full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

func TestFullDisk(t *testing.T) {
	for _, output := range []string{"--messages=false", "--messages"} {
		var stderr bytes.Buffer
		r := ran{code: run(t.Context(), []string{output}, full{}, &stderr), stderr: stderr.String()}
		r.check(t)
		if r.code != program.ExitFailed || !strings.Contains(r.stderr, "not complete") {
			t.Errorf("%s: got %+v", output, r)
		}
	}
}
