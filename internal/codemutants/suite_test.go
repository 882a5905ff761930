package codemutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// test is a test, an example or the seeds of a fuzz target, as it runs without a mutant.
type test struct {
	folder string // of the package, from the root of the module
	name   string
	took   time.Duration
}

// suite has the tests that reach each mutant, by its key.
type suite struct {
	*module
	limit   time.Duration // for a test, in addition to five times what it takes without a mutant
	reach   map[string][]test
	leftOut []string // the tests that fail or take too long without a mutant
}

const waitDelay = 10 * time.Second

// binary returns where the tests of a package are compiled to.
func (m *module) binary(folder string) string {
	return filepath.Join(filepath.Dir(m.root), "tests-"+strings.ReplaceAll(folder, "/", "-"))
}

// record compiles the tests of all packages, and runs each test on its own to see which mutants it
// reaches.
func (s *suite) record(ctx context.Context, workers int, patterns []string) error {
	if _, err := s.goCommand(ctx, append([]string{"build"}, patterns...)...); err != nil {
		return err
	}
	var all []test
	for _, p := range s.packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		folder := s.folder(p)
		if _, err := s.goCommand(ctx, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", s.binary(folder), "./"+folder); err != nil {
			return err
		}
		names, err := s.command(ctx, p.Dir, nil, s.binary(folder), "-test.list=.")
		if err != nil {
			return fmt.Errorf("the tests of %s do not start: %w\n%s", folder, err, names)
		}
		for _, name := range testName.FindAllString(names, -1) {
			// A switch is not inlined, so that tests which count allocations fail.
			if !strings.Contains(name, "Alloc") {
				all = append(all, test{folder: folder, name: name})
			}
		}
	}
	var mu sync.Mutex
	return each(ctx, workers, all, func(ctx context.Context, t test) error {
		keys, took, err := s.recordOne(ctx, t)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			s.leftOut = append(s.leftOut, fmt.Sprintf("%s %s: %v", t.folder, t.name, err))
		}
		t.took = took
		for _, key := range keys {
			s.reach[key] = append(s.reach[key], t)
		}
		return nil
	})
}

var (
	testName    = regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\S*$`)
	testEnded   = regexp.MustCompile(`(?m)^--- (?:PASS|SKIP): \S+ \((\S+)\)$`)
	failedTest  = regexp.MustCompile(`(?m)^\s*--- FAIL: ([^\s/]+)`)
	runningTest = regexp.MustCompile(`(?m)^\s*running tests:\n\s*([^\s/]+)`)
)

// recordOne runs a test, and returns the keys of the mutants that it reaches.
func (s *suite) recordOne(ctx context.Context, t test) (keys []string, took time.Duration, err error) {
	file, err := os.CreateTemp(filepath.Dir(s.root), "record-")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	text, err := s.run(ctx, t.folder, s.limit, recordVariable+"="+file.Name(), t.name)
	if err != nil {
		return nil, 0, err
	}
	if ended := firstOf(testEnded, text); ended != "" {
		if took, err = time.ParseDuration(ended); err != nil {
			return nil, 0, err
		}
	}
	recorded, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, 0, err
	}
	return strings.Fields(string(recorded)), took, nil
}

// errHang is the error of tests that do not end in time.
var errHang = errors.New("hang")

// run runs tests of a package until one fails.
func (s *suite) run(ctx context.Context, folder string, limit time.Duration, env string, names ...string) (output string, err error) {
	within, cancel := context.WithTimeout(ctx, limit+waitDelay) // for what hangs outside of a test
	defer cancel()
	output, err = s.command(within, filepath.Join(s.root, folder), []string{env}, s.binary(folder), "-test.v", "-test.failfast",
		"-test.paniconexit0", "-test.timeout="+limit.String(), "-test.run=^("+strings.Join(names, "|")+")$")
	if strings.Contains(output, "panic: test timed out") || within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: no end within %v", errHang, limit)
	}
	return output, err
}

// budget is the time that the tests of a mutant take at most, without it.
const budget = 10 * time.Second

// batches returns the tests that reach a mutant in the order in which they run, those of one batch
// in one process: first the quick ones of its own package, then its others, then those of other
// packages.
func (s *suite) batches(m *mutant) [][]test {
	place := func(t test) int {
		switch {
		case t.folder != m.folder:
			return 2
		case t.took > 100*time.Millisecond:
			return 1
		}
		return 0
	}
	tests := slices.Clone(s.reach[m.key()])
	slices.SortFunc(tests, func(a, b test) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.took, b.took), cmp.Compare(a.folder+a.name, b.folder+b.name))
	})
	var total time.Duration
	for i, t := range tests {
		if total += t.took; total > budget && i > 0 {
			tests = tests[:i]
			break
		}
	}
	slices.SortStableFunc(tests, func(a, b test) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.folder, b.folder))
	})
	var all [][]test
	for i, t := range tests {
		if i == 0 || place(t) != place(tests[i-1]) || t.folder != tests[i-1].folder {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], t)
	}
	return all
}

// verdict is what the tests say of a mutant.
type verdict struct {
	mutant *mutant
	killer string // the test that fails or hangs; empty for none
	hang   bool
	tests  int // the number of tests that ran
}

// judge runs the tests of a mutant until one fails.
func (s *suite) judge(ctx context.Context, m *mutant) verdict {
	v := verdict{mutant: m}
	for _, batch := range s.batches(m) {
		v.tests += len(batch)
		if v.killer, v.hang = s.judgeBatch(ctx, m, batch); v.killer != "" {
			break
		}
	}
	return v
}

// judgeBatch runs tests with a mutant, and runs each one that fails or hangs once more, alone: what
// happens only once, on a busy machine perhaps, notices nothing.
func (s *suite) judgeBatch(ctx context.Context, m *mutant, batch []test) (killer string, hang bool) {
	env := onVariable + "=" + m.key()
	for len(batch) > 0 {
		var names []string
		limit := s.limit
		for _, t := range batch {
			names = append(names, t.name)
			limit += 5 * t.took
		}
		text, err := s.run(ctx, batch[0].folder, limit, env, names...)
		if err == nil || ctx.Err() != nil {
			return "", false
		}
		name := cmp.Or(firstOf(failedTest, text), firstOf(runningTest, text))
		if name != "" {
			names = []string{name}
		} // else a panic of another goroutine, an exit, a leak
		if _, again := s.run(ctx, batch[0].folder, limit, env, names...); again != nil {
			return cmp.Or(name, "panic, exit or leak"), errors.Is(again, errHang)
		}
		batch = slices.DeleteFunc(batch, func(t test) bool { return slices.Contains(names, t.name) })
	}
	return "", false
}

// each calls f for all values, some at a time, until one returns an error.
func each[T any](ctx context.Context, workers int, all []T, f func(context.Context, T) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	values := make(chan T)
	var group sync.WaitGroup
	for range max(1, workers) {
		group.Go(func() {
			for v := range values {
				if err := f(ctx, v); err != nil {
					fail(err)
				}
			}
		})
	}
	for _, v := range all {
		select {
		case values <- v:
		case <-ctx.Done():
		}
	}
	close(values)
	group.Wait()
	return context.Cause(ctx)
}

func firstOf(pattern *regexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
