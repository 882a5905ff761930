package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// suite describes the tests of a package as they run without a mutant. The quick tests run before the others: most mutants are
// noticed by one of them.
type suite struct {
	tests      []string // the names, with those of examples and fuzz targets
	took       map[string]time.Duration
	unreliable []string // the tests that failed once
}

var testEnded = regexp.MustCompile(`(?m)^--- (?:PASS|SKIP): (\S+) \((\S+)\)$`)

// measure runs tests of a package that were compiled without a mutant: those named, or all. A test that fails without a mutant
// notices nothing. One that fails only once does not run with the mutants either.
func (s scratch) measure(ctx context.Context, p string, limit time.Duration, names []string) (suite, error) {
	run := "."
	if len(names) > 0 {
		run = anyOf(names)
	}
	var unreliable []string
	text, err := s.run(ctx, p, limit, "-test.v", "-test.run="+run, "-test.skip="+anyOf(s.apart))
	for err != nil {
		test := failureIn(text)
		if test == "" {
			return suite{}, fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", p, err, text)
		}
		if said, again := s.run(ctx, p, limit, "-test.run="+anyOf([]string{test})); again != nil {
			return suite{}, fmt.Errorf("%s of %s fails without a mutant: %w\n%s", test, p, again, said)
		}
		unreliable = append(unreliable, test)
		text, err = s.run(ctx, p, limit, "-test.v", "-test.run="+run, "-test.skip="+anyOf(slices.Concat(s.apart, unreliable)))
	}
	measured := suite{took: map[string]time.Duration{}, unreliable: unreliable}
	for _, found := range testEnded.FindAllStringSubmatch(text, -1) {
		name := found[1]
		took, err := time.ParseDuration(found[2])
		if err != nil {
			return suite{}, err
		}
		measured.tests = append(measured.tests, name)
		measured.took[name] = took
	}
	return measured, nil
}

// phase is a part of the tests of a package: those named, or all others than those named.
type phase struct {
	names  []string
	others bool
	took   time.Duration // without a mutant
}

// bounds are the longest times that a test of each phase takes without a mutant. The last phase has all others.
var bounds = []time.Duration{100 * time.Millisecond, time.Second}

// phases returns the parts of a suite in the order in which they run.
func (s suite) phases(first []string) []phase {
	var known []string // those of the phases so far
	var all []phase
	add := func(in func(name string) bool) {
		var p phase
		for _, name := range s.tests {
			if !slices.Contains(known, name) && in(name) {
				p.names = append(p.names, name)
				p.took += s.took[name]
			}
		}
		if len(p.names) > 0 {
			all = append(all, p)
			known = append(known, p.names...)
		}
	}
	add(func(name string) bool { return slices.Contains(first, name) })
	for _, longest := range bounds {
		add(func(name string) bool { return s.took[name] <= longest })
	}
	rest := phase{names: known, others: true}
	for _, name := range s.tests {
		if !slices.Contains(known, name) {
			rest.took += s.took[name]
		}
	}
	return append(all, rest)
}

// arguments returns the flags that select the tests of a phase, apart from some.
func (p phase) arguments(apart []string) []string {
	if p.others {
		return []string{"-test.skip=" + anyOf(append(slices.Clone(p.names), apart...))}
	}
	return []string{"-test.run=" + anyOf(p.names), "-test.skip=" + anyOf(apart)}
}

// anyOf returns a pattern that matches the names and nothing else.
func anyOf(names []string) string {
	if len(names) == 0 {
		return "^$"
	}
	return "^(" + strings.Join(names, "|") + ")$"
}
