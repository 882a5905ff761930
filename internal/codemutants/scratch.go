package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// scratch is a copy of the module, in which one mutant at a time is tested. The copies of a run share a build cache, in
// which paths play no part (-trimpath).
type scratch struct {
	root  string
	cache string
	apart []string // patterns of the tests that do not run
	env   []string // variables of the environment of tests
}

// newScratch copies the module at root to a new folder below to.
func newScratch(to, root, cache string) (scratch, error) {
	to, err := os.MkdirTemp(to, "copy-")
	if err != nil {
		return scratch{}, err
	}
	s := scratch{root: filepath.Join(to, "module"), cache: cache}
	return s, copyModule(s.root, root)
}

// copyModule copies the files of a module, without its repository and its binaries.
func copyModule(to, root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case below == ".git" || below == "bin":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // the .git of a worktree is a file
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, below), text, info.Mode().Perm())
	})
}

// with runs f while the file of a mutant has the fault. The error says that the mutant does not apply.
func (s scratch) with(m mutant, f func()) (err error) {
	file := s.path(m.file)
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := m.apply(string(before))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, before, 0o600)) }()
	if err := os.WriteFile(file, []byte(after), 0o600); err != nil {
		return err
	}
	f()
	return nil
}

// path returns the path of a file of the copy.
func (s scratch) path(file string) string { return filepath.Join(s.root, filepath.FromSlash(file)) }

// binary returns where the tests of a package are compiled to.
func (s scratch) binary(p string) string {
	return filepath.Join(filepath.Dir(s.root), strings.ReplaceAll(path.Join("tests", p), "/", "-"))
}

// compile compiles the tests of a package. It returns what the compiler says.
func (s scratch) compile(ctx context.Context, p string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", s.binary(p), p)
	return s.output(cmd, s.root, "GOGC=400") // the compiler takes a third less time
}

// errHang is the error of tests that do not end in time.
var errHang = errors.New("hang")

// run runs tests that were compiled, until one fails. The arguments select the tests.
func (s scratch) run(ctx context.Context, p string, limit time.Duration, args ...string) (output string, err error) {
	within, cancel := context.WithTimeout(ctx, limit+10*time.Second) // for what hangs outside of a test
	defer cancel()
	args = append(args, "-test.failfast", "-test.paniconexit0", "-test.timeout="+limit.String())
	output, err = s.output(exec.CommandContext(within, s.binary(p), args...), s.path(p), s.env...)
	if strings.Contains(output, "panic: test timed out") || within.Err() != nil && ctx.Err() == nil {
		return output, fmt.Errorf("%w: no end within %v", errHang, limit)
	}
	return output, err
}

// output runs a command in a folder of the copy, with more variables of the environment.
func (s scratch) output(cmd *exec.Cmd, folder string, env ...string) (string, error) {
	cmd.Dir = folder
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"), "GOCACHE="+s.cache, "PWD="+folder)
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}
