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
	"regexp"
	"strings"
	"time"
)

// verdict is the outcome of a mutant.
type verdict string

const (
	noticed      verdict = "noticed"
	unnoticed    verdict = "NOT noticed"
	inapplicable verdict = "does not apply"
	uncompiled   verdict = "does not compile"
)

// result is the verdict about one mutant.
type result struct {
	mutant  mutant
	verdict verdict
	why     string // the test that failed, or the error; empty for none
	took    time.Duration
}

func (r result) String() string {
	return strings.TrimSpace(fmt.Sprintf("%-16s %5.1fs  %s  %s", r.verdict, r.took.Seconds(), r.mutant.name, r.why))
}

// scratch is a copy of the module, in which one mutant at a time is tested.
type scratch struct {
	root    string
	cache   string          // the build cache of this copy alone; empty: the user's
	built   map[string]bool // the files of the cache without a mutant
	timeout time.Duration   // for the tests of one package
}

// newScratch copies the module at root to a new temporary folder.
func newScratch(root string, o options) (scratch, error) {
	to, err := os.MkdirTemp("", "codemutants-")
	if err != nil {
		return scratch{}, err
	}
	s := scratch{root: filepath.Join(to, "module"), timeout: o.timeout}
	if o.ownCache {
		s.cache = filepath.Join(to, "cache")
	}
	if err := copyModule(s.root, root); err != nil {
		return scratch{}, errors.Join(err, os.RemoveAll(to))
	}
	return s, nil
}

// build fills a build cache of the copy alone with what all mutants need: the tests of the packages without a mutant.
func (s *scratch) build(ctx context.Context, packages []string) error {
	if s.cache == "" {
		return nil
	}
	text, err := s.goTest(ctx, append([]string{"-run", "^$"}, packages...)...)
	if err != nil {
		return fmt.Errorf("the tests do not compile without a mutant: %w\n%s", err, text)
	}
	return s.keep()
}

// keep has clean keep the files that the cache has now.
func (s *scratch) keep() error {
	s.built = make(map[string]bool)
	return s.eachCached(func(name string) error {
		s.built[name] = true
		return nil
	})
}

// eachCached calls visit with each file of the cache.
func (s *scratch) eachCached(visit func(name string) error) error {
	return filepath.WalkDir(s.cache, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return visit(name)
	})
}

// clean removes the files that were compiled for a mutant from the build cache of the copy.
func (s *scratch) clean() error {
	if s.cache == "" {
		return nil
	}
	return s.eachCached(func(name string) error {
		if s.built[name] {
			return nil
		}
		return os.Remove(name)
	})
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

func (s scratch) remove() { _ = os.RemoveAll(filepath.Dir(s.root)) } // a folder of temporary files

// checkUnchanged runs the tests of the packages without a mutant. A test that fails without a mutant notices nothing.
func (s scratch) checkUnchanged(ctx context.Context, packages []string) error {
	if text, err := s.goTest(ctx, packages...); err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, text)
	}
	return nil
}

// test applies a mutant, runs its tests until some fail, and restores the file.
func (s scratch) test(ctx context.Context, m mutant) result {
	began := time.Now()
	r := result{mutant: m}
	r.verdict, r.why = s.judge(ctx, m)
	r.took = time.Since(began)
	return r
}

func (s scratch) judge(ctx context.Context, m mutant) (v verdict, why string) {
	file := filepath.Join(s.root, filepath.FromSlash(m.file))
	before, err := os.ReadFile(file)
	if err != nil {
		return inapplicable, err.Error()
	}
	after, err := m.apply(string(before))
	if err != nil {
		return inapplicable, err.Error()
	}
	if err := os.WriteFile(file, []byte(after), 0o600); err != nil {
		return inapplicable, err.Error()
	}
	defer func() {
		if err := errors.Join(os.WriteFile(file, before, 0o600), s.clean()); err != nil {
			v, why = inapplicable, err.Error()
		}
	}()
	if text, err := s.command(ctx, "build", "./"+path.Dir(m.file)); err != nil {
		return uncompiled, text
	}
	for _, p := range m.tests {
		text, err := s.goTest(ctx, p)
		switch {
		case err == nil:
		case strings.Contains(text, "[build failed]"):
			return uncompiled, text
		default:
			return noticed, failureIn(text)
		}
	}
	return unnoticed, ""
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failureIn returns the first failed test of an output of go test, or another reason why it failed.
func failureIn(text string) string {
	switch failed := failedTest.FindStringSubmatch(text); {
	case strings.Contains(text, "panic: test timed out"):
		return "(timeout)"
	case failed != nil:
		return failed[1]
	}
	return "(panic or exit)"
}

// goTest runs the tests of packages, until one fails in each.
func (s scratch) goTest(ctx context.Context, packages ...string) (output string, err error) {
	return s.command(ctx, append([]string{"test", "-vet=off", "-failfast", "-timeout", s.timeout.String()}, packages...)...)
}

// command runs the go command in the copy. With -trimpath the user's build cache serves all copies.
func (s scratch) command(ctx context.Context, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test then ends its tests
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"), "PWD="+s.root)
	if s.cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+s.cache)
	}
	text, err := cmd.CombinedOutput()
	return string(text), err
}
