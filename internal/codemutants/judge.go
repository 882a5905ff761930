package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// verdict is what became of a mutant.
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

// judge tests mutants, most of them in a copy that has them all: see [switches]. It tests in a copy of its own the others,
// and those that no test notices in that one.
type judge struct {
	own      scratch
	switches *switches
	limit    time.Duration // for a phase, in addition to three times what it takes without a mutant
	switched *suites       // of the packages of switches
	plain    *suites       // of the packages of the module
}

// suites has the suites of packages that were measured, or are measured now.
type suites struct {
	mu       sync.Mutex
	compiled map[string]func() (struct{}, error) // by where they are
	measured map[string]func() (suite, error)    // by package and names
}

func newSuites() *suites {
	return &suites{compiled: map[string]func() (struct{}, error){}, measured: map[string]func() (suite, error){}}
}

// of compiles and measures tests of a package when it is asked for them for the first time: those named, or all. The copy must be
// without a mutant.
func (all *suites) of(ctx context.Context, s scratch, p string, limit time.Duration, names ...string) (suite, error) {
	_, err := once(&all.mu, all.compiled, s.binary(p), func() (struct{}, error) {
		text, err := s.compile(ctx, p)
		if err != nil {
			err = fmt.Errorf("the tests of %s do not compile without a mutant: %w\n%s", p, err, text)
		}
		return struct{}{}, err
	})
	if err != nil {
		return suite{}, err
	}
	return once(&all.mu, all.measured, p+" "+strings.Join(names, " "), func() (suite, error) { return s.measure(ctx, p, 10*limit, names) })
}

// once returns what get returned for the key. It calls get for the first one that asks; others wait for that.
func once[T any](mu *sync.Mutex, all map[string]func() (T, error), key string, get func() (T, error)) (T, error) {
	mu.Lock()
	known := all[key]
	if known == nil {
		known = sync.OnceValues(get)
		all[key] = known
	}
	mu.Unlock()
	return known()
}

// test runs the tests of a mutant until some fail. The error says that tests fail without a mutant.
func (j judge) test(ctx context.Context, m mutant) (result, error) {
	began := time.Now()
	r := result{mutant: m, verdict: unnoticed}
	var err error
	if said, ok := j.switches.errors[m.name]; ok {
		r.verdict, r.why = uncompiled, said
	} else if _, ok := j.switches.numbers[m.name]; ok {
		err = j.testSwitched(ctx, &r)
	}
	if r.verdict == unnoticed && err == nil {
		err = j.testApplied(ctx, &r)
	}
	r.took = time.Since(began)
	return r, err
}

// testSwitched tests a mutant in the copy that has all: with the tests that are known to notice it, and then with all others.
func (j judge) testSwitched(ctx context.Context, r *result) error {
	with := j.switches.to(r.mutant)
	for _, p := range r.mutant.tests {
		if len(r.mutant.first) == 0 {
			break
		}
		s, err := j.switched.of(ctx, j.switches.scratch, p, j.limit, r.mutant.first...)
		if err != nil {
			return err
		}
		first := phase{names: s.tests}
		for _, took := range s.took {
			first.took += took
		}
		if len(first.names) == 0 {
			continue // they are in another package
		}
		if by, _ := with.testPhase(ctx, p, first, j.limit+3*first.took); by != "" {
			r.verdict, r.why = noticed, by
			return nil
		}
	}
	for _, p := range r.mutant.tests {
		s, err := j.switched.of(ctx, j.switches.scratch, p, j.limit)
		if err != nil {
			return err
		}
		if r.verdict, r.why = j.testSuite(ctx, with, s, r.mutant, p); r.verdict != unnoticed {
			return nil
		}
	}
	return nil
}

// testApplied applies a mutant in the judge's own copy, and restores the file.
func (j judge) testApplied(ctx context.Context, r *result) error {
	var all []suite
	for _, p := range r.mutant.tests {
		s, err := j.plain.of(ctx, j.own, p, j.limit)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	err := j.own.with(r.mutant, func() {
		for i, p := range r.mutant.tests {
			if text, err := j.own.compile(ctx, p); err != nil {
				r.verdict, r.why = uncompiled, text
				return
			}
			if r.verdict, r.why = j.testSuite(ctx, j.own, all[i], r.mutant, p); r.verdict != unnoticed {
				return
			}
		}
	})
	if err != nil {
		r.verdict, r.why = inapplicable, err.Error()
	}
	return nil
}

// testSuite runs the tests of a package with a mutant.
func (j judge) testSuite(ctx context.Context, in scratch, s suite, m mutant, p string) (verdict, string) {
	why := ""
	in.apart = slices.Concat(in.apart, s.unreliable)
	for _, phase := range s.phases(m.first) {
		by, chance := in.testPhase(ctx, p, phase, j.limit+3*phase.took)
		if by != "" {
			return noticed, by
		}
		if chance != "" {
			why = "(by chance: " + chance + ")"
		}
	}
	return unnoticed, why
}

// testPhase runs a phase, and each test that fails or does not end once more: what happens only once, on a busy machine
// perhaps, notices nothing. It returns the test that fails again, or else the last one that did not.
func (s scratch) testPhase(ctx context.Context, p string, phase phase, limit time.Duration) (by, chance string) {
	apart := slices.Clone(s.apart) // and the tests that failed by chance
	for {
		text, err := s.run(ctx, p, limit, phase.arguments(apart)...)
		if err == nil {
			return "", chance
		}
		test := failureIn(text)
		if errors.Is(err, errHang) {
			test = runningIn(text)
		}
		args := []string{"-test.run=^" + test + "$"}
		if test == "" { // a panic of another goroutine, an exit, a leak
			test, args = "(panic, exit or leak)", phase.arguments(apart)
		}
		switch _, again := s.run(ctx, p, limit, args...); {
		case errors.Is(again, errHang):
			return test + "  (" + again.Error() + ")", ""
		case again != nil:
			return test, ""
		case strings.HasPrefix(test, "("):
			return "", test
		case errors.Is(err, errHang):
			limit *= 2
		}
		chance, apart = test, append(apart, test)
	}
}

var (
	failedTest  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	runningTest = regexp.MustCompile(`(?m)^\s*running tests:\n\s*([^\s/]+)`)
)

// failureIn returns the first failed test of an output, or nothing.
func failureIn(text string) string { return firstOf(failedTest, text) }

// runningIn returns the test that did not end by the time limit, or nothing.
func runningIn(text string) string { return firstOf(runningTest, text) }

func firstOf(pattern *regexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
