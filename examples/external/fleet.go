package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

//go:embed python/*.py js/*
var files embed.FS

// page is what a browser gets.
func page() fs.FS {
	sub, err := fs.Sub(files, "js")
	if err != nil {
		panic(err) // it is embedded above
	}
	return sub
}

// fleet is the agents that were started here, each a process of its own.
type fleet struct {
	dir     string
	started int
	cancel  context.CancelFunc
	running sync.WaitGroup
	gone    chan error // who ended before its time
}

// muster starts the agents that are wanted.
func muster(ctx context.Context, o *options, h *host, stderr io.Writer) (f *fleet, err error) {
	ctx, cancel := context.WithCancel(ctx)
	f = &fleet{cancel: cancel, gone: make(chan error, len(crew))}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	if f.dir, err = unpack(); err != nil {
		return f, err
	}
	for _, c := range crew {
		if o.spawn != c.spawn && o.spawn != "both" && o.spawn != "auto" {
			continue
		}
		cmd, err := c.command(ctx, f.dir, h)
		switch {
		case err == nil:
			err = f.launch(ctx, cmd, stderr)
		case o.spawn == "auto":
			continue
		}
		if err != nil {
			return f, err
		}
	}
	if f.started == 0 && o.spawn == "auto" && !o.stay {
		return f, errors.New("neither python3 nor a node with WebSocket is installed: start an agent of your own, with --spawn none")
	}
	return f, nil
}

// unpack writes the programs to a folder, so that this one runs wherever it is.
func unpack() (string, error) {
	dir, err := os.MkdirTemp("", "external-")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, files)
}

// launch starts an agent. It is interrupted when ctx ends, and killed when that does not
// help.
func (f *fleet) launch(ctx context.Context, cmd *exec.Cmd, stderr io.Writer) error {
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	if err := cmd.Start(); err != nil {
		return err
	}
	f.started++
	f.running.Go(func() {
		err := cmd.Wait()
		if ctx.Err() == nil {
			f.gone <- fmt.Errorf("%s has ended: %w", filepath.Base(cmd.Path), errors.Join(err, errors.New("what it says is above")))
		}
	})
	return nil
}

// expected is how many agents will have a task: those of the fleet, or else anybody.
func (f *fleet) expected() int { return max(f.started, 1) }

// stop ends the agents.
func (f *fleet) stop() {
	f.cancel()
	f.running.Wait()
	_ = os.RemoveAll(f.dir)
}
