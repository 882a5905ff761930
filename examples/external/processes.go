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

	"github.com/ribosome-agents/ribosome/clients"
)

//go:embed python/*.py js/*.mjs js/index.html
var files embed.FS

// page returns the files of the web page.
func page() fs.FS {
	sub, err := fs.Sub(files, "js")
	if err != nil {
		panic(err) // it is embedded above
	}
	return sub
}

// processes are the agents that this program has started.
type processes struct {
	dir     string
	started int
	cancel  context.CancelFunc
	running sync.WaitGroup
	exited  chan error // an error for each process that ended before stop
}

// startProcesses starts the agents of the --spawn flag.
func startProcesses(ctx context.Context, o *options, h *host, stderr io.Writer) (f *processes, err error) {
	ctx, cancel := context.WithCancel(ctx)
	f = &processes{cancel: cancel, exited: make(chan error, len(commands))}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	if f.dir, err = unpack(); err != nil {
		return f, err
	}
	for _, c := range commands {
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
		return f, errors.New("neither python3 nor node is installed: start an agent of your own, with --spawn none")
	}
	return f, nil
}

// unpack writes the embedded programs to a temporary folder.
func unpack() (string, error) {
	dir, err := os.MkdirTemp("", "external-")
	if err != nil {
		return "", err
	}
	return dir, install(dir)
}

// install writes the programs and the client packages that they use to dir.
func install(dir string) error {
	return errors.Join(os.CopyFS(dir, files), clients.Install(dir))
}

// launch starts an agent. The end of ctx interrupts it, and kills it if it has not ended
// after stopTime.
func (f *processes) launch(ctx context.Context, cmd *exec.Cmd, stderr io.Writer) error {
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
			f.exited <- fmt.Errorf("%s has ended: %w", filepath.Base(cmd.Path), errors.Join(err, errors.New("what it says is above")))
		}
	})
	return nil
}

// stop ends the processes and deletes their folder.
func (f *processes) stop() {
	f.cancel()
	f.running.Wait()
	_ = os.RemoveAll(f.dir)
}
