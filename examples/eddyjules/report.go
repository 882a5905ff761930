package main

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

// end prints Eddy's result for the user: the diagnosis, the diff and advice.
func (t *transcript) end(r performatives.InformResult, err error) error {
	if err != nil {
		t.print("\nNo result.\n") // stderr gets the reason
		return program.Printing(t.out.Err())
	}
	f, err := performatives.Decode[swarm.Finding](r.Details)
	if err != nil {
		f = swarm.Finding{} // the details of another debugger; the summary is still valid
	}
	t.part("Eddy to you", r.Summary)
	t.where(f)
	t.part("Why, and what changes", f.Explanation)
	if f.Analysis != r.Summary {
		t.part("What was found", f.Analysis)
	}
	t.part("What is needed from you", f.RequestForUser)
	t.diff(f.Diff)
	if f.TestsPassed != nil && *f.TestsPassed {
		t.part("Verified with python3", "The original fails as reported, the fixed script does not.")
	}
	t.part("Next", t.options.next(r, f))
	return program.Printing(t.out.Err())
}

func (t *transcript) where(f swarm.Finding) {
	if f.Error == "" {
		return
	}
	t.print("\n")
	if f.Expression != "" {
		t.print(fmt.Sprintf("  line %d: %s\n", f.Line, program.OneLine(f.Expression)))
	}
	t.print("  " + program.OneLine(f.Error) + "\n")
}

// part prints a paragraph under its title. It wraps prose, and leaves lines unchanged
// that are indented or belong to a diff.
func (t *transcript) part(title, text string) {
	if text == "" {
		return
	}
	t.print("\n" + title + "\n")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\r\n")
		lines := []string{line}
		if line != "" && !strings.ContainsRune(` +-@\`, rune(line[0])) {
			lines = wrap(line, width-2)
		}
		for _, l := range lines {
			t.print(strings.TrimRight("  "+l, " ") + "\n")
		}
	}
}

// diff prints a diff so that patch can read it: all lines have the same indentation and
// are otherwise unchanged.
func (t *transcript) diff(diff string) {
	if diff == "" {
		return
	}
	t.print("\n")
	for line := range strings.Lines(diff) {
		t.print("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
}
