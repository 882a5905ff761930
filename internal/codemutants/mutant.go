package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// mutant is a fault of one file. A list has it in this form:
//
//	mutant scope-deadline
//	file codons/scope.go
//	tests ./codons ./codons/delegation
//	first TestTreeDeadline
//	fault A child does not inherit the deadline of its parent.
//	@@
//	 	if by := s.childDeadline(e.Timestamp, reserve); !detached {
//	-		e.ReplyBy = by
//	+		_ = by
//	 	}
//
// The lines after @@ are a hunk of a diff without line numbers: a space begins a line that stays, a minus one that goes, a
// plus one that comes. An empty line ends the mutant. The lines that stay or go must be in the file exactly once, in that
// order and without others between them. Their indentation does not count. A line that begins with # is a comment. The line
// first may be missing.
type mutant struct {
	name  string
	file  string   // the path from the root of the module
	tests []string // the packages whose tests must notice the fault, the narrowest first
	first []string // the tests that are known to notice the fault and run before the others; may be empty
	fault string   // why it is a fault
	old   []string // the lines of the file, without indentation
	new   []string // the lines in their place
}

// parseLists returns the mutants of all lists, in the order of the files. The error names the list and the line.
func parseLists(lists fs.FS) ([]mutant, error) {
	files, err := fs.Glob(lists, "list/*.txt")
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		text, err := fs.ReadFile(lists, file)
		if err != nil {
			return nil, err
		}
		mutants, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s:%w", file, err)
		}
		all = append(all, mutants...)
	}
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			return nil, fmt.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
	}
	return all, nil
}

// parse returns the mutants of one list. The error begins with the number of the line.
func parse(text string) ([]mutant, error) {
	var mutants []mutant
	var m *mutant // nil between two mutants
	hunk := false
	for i, line := range strings.Split(text+"\n", "\n") {
		var err error
		switch key, value, _ := strings.Cut(line, " "); {
		case line == "" && m != nil:
			err = m.check()
			mutants, m, hunk = append(mutants, *m), nil, false
		case line == "" || line[0] == '#' && !hunk:
		case hunk:
			err = m.addLine(line)
		case line == "@@" && m != nil:
			hunk = true
		case key == "mutant" && m == nil:
			m = &mutant{name: value}
		case m == nil:
			err = errors.New("want a line that begins with mutant")
		default:
			err = m.set(key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	return mutants, nil
}

// set sets a field of the head.
func (m *mutant) set(key, value string) error {
	switch key {
	case "file":
		m.file = value
	case "tests":
		m.tests = strings.Fields(value)
	case "first":
		m.first = strings.Fields(value)
	case "fault":
		m.fault = value
	default:
		return fmt.Errorf("want file, tests, first, fault or @@, got %q", key)
	}
	return nil
}

// addLine adds a line of the hunk.
func (m *mutant) addLine(line string) error {
	switch line[0] {
	case ' ':
		m.old, m.new = append(m.old, strings.TrimSpace(line)), append(m.new, line[1:])
	case '-':
		m.old = append(m.old, strings.TrimSpace(line[1:]))
	case '+':
		m.new = append(m.new, line[1:])
	default:
		return fmt.Errorf("want a space, a minus or a plus at the beginning of a line of the hunk, got %q", line)
	}
	return nil
}

// check returns an error for a mutant that lacks a part.
func (m *mutant) check() error {
	switch {
	case m.name == "" || strings.ContainsAny(m.name, " \t"):
		return fmt.Errorf("want a name of one word, got %q", m.name)
	case m.file == "" || len(m.tests) == 0 || m.fault == "" || len(m.old) == 0:
		return fmt.Errorf("%s: want file, tests, fault, and a hunk with lines of the file", m.name)
	case slices.EqualFunc(m.old, m.new, func(o, n string) bool { return o == strings.TrimSpace(n) }):
		return fmt.Errorf("%s: the hunk changes nothing", m.name)
	}
	return nil
}

// apply returns the text of the file with the fault. The error says that the old lines are not in the text exactly once.
func (m *mutant) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	at := -1
	for i := 0; i+len(m.old) <= len(lines); i++ {
		if !m.matches(lines[i:]) {
			continue
		}
		if at >= 0 {
			return "", fmt.Errorf("%s: %s has the old lines twice, at %d and %d: add lines that stay", m.name, m.file, at+1, i+1)
		}
		at = i
	}
	if at < 0 {
		return "", fmt.Errorf("%s: %s does not have the old lines", m.name, m.file)
	}
	return strings.Join(slices.Replace(lines, at, at+len(m.old), m.new...), "\n"), nil
}

// matches reports whether lines begin with the old lines.
func (m *mutant) matches(lines []string) bool {
	for i, old := range m.old {
		if strings.TrimSpace(lines[i]) != old {
			return false
		}
	}
	return true
}

// packagesOf returns the packages that mutants name, without repetitions.
func packagesOf(mutants []mutant) []string {
	var all []string
	for _, m := range mutants {
		all = append(all, m.tests...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
