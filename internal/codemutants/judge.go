package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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

// judge tests mutants in a scratch copy.
type judge struct {
	scratch
	limit  time.Duration // for a phase, in addition to three times what it takes without a mutant
	suites *suites
}

// suites has the suites of packages that were measured, or are measured now.
type suites struct {
	mu  sync.Mutex
	all map[string]func() (suite, error)
}

// suite measures the tests of a package when it is asked for them for the first time. The copy must be without a mutant.
func (j judge) suite(ctx context.Context, p string) (suite, error) {
	j.suites.mu.Lock()
	get := j.suites.all[p]
	if get == nil {
		get = sync.OnceValues(func() (suite, error) { return j.measure(ctx, p, 10*j.limit) })
		j.suites.all[p] = get
	}
	j.suites.mu.Unlock()
	return get()
}

// test applies a mutant, runs its tests until some fail, and restores the file. The error says that tests fail without a
// mutant.
func (j judge) test(ctx context.Context, m mutant) (result, error) {
	for _, p := range m.tests {
		if _, err := j.suite(ctx, p); err != nil {
			return result{}, err
		}
	}
	began := time.Now()
	r := result{mutant: m, verdict: unnoticed}
	err := j.with(m, func() {
		for _, p := range m.tests {
			if r.verdict == unnoticed {
				r.verdict, r.why = j.testPackage(ctx, m, p)
			}
		}
	})
	if err != nil {
		r.verdict, r.why = inapplicable, err.Error()
	}
	r.took = time.Since(began)
	return r, nil
}

// testPackage runs the tests of a package in the copy with a mutant.
func (j judge) testPackage(ctx context.Context, m mutant, p string) (verdict, string) {
	if text, err := j.compile(ctx, p); err != nil {
		return uncompiled, text
	}
	s, _ := j.suite(ctx, p) // measured before
	why := ""
	for _, phase := range s.phases(m.first) {
		by, chance := j.testPhase(ctx, p, phase)
		if by != "" {
			return noticed, by
		}
		if chance != "" {
			why = "(by chance: " + chance + ")"
		}
	}
	return unnoticed, why
}

// testPhase runs a phase, and each test that fails once more: what fails only once, on a busy machine perhaps, notices
// nothing. It returns the test that fails again, or else the last one that did not.
func (j judge) testPhase(ctx context.Context, p string, phase phase) (by, chance string) {
	limit := j.limit + 3*phase.took
	var apart []string // the tests that failed by chance
	for {
		text, err := j.run(ctx, p, limit, phase.arguments(apart)...)
		switch {
		case err == nil:
			return "", chance
		case errors.Is(err, errHang):
			return "(" + err.Error() + ")", ""
		}
		test := failureIn(text)
		if test == "" { // a panic of another goroutine, an exit, a leak
			if _, err := j.run(ctx, p, limit, phase.arguments(apart)...); err != nil {
				return "(panic, exit or leak)", ""
			}
			return "", "(panic, exit or leak)"
		}
		if _, err := j.run(ctx, p, limit, "-test.run=^"+test+"$"); err != nil {
			return test, ""
		}
		chance, apart = test, append(apart, test)
	}
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// failureIn returns the first failed test of an output, or nothing.
func failureIn(text string) string {
	if failed := failedTest.FindStringSubmatch(text); failed != nil {
		return failed[1]
	}
	return ""
}
