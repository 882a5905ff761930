package pydebug

import (
	"cmp"
	"slices"
	"strings"
)

// Edit replaces the bytes Start to End of a source by Text.
type Edit struct {
	Start, End int
	Text       string
}

// fix is a change that is expected to remove the error. Its fields become those of
// the Diagnosis.
type fix struct {
	edits  []Edit
	change string // the change, as a sentence for the user
	effect string // the change in the script's behaviour, as sentences for the user
	final  bool   // later uses of the same element need no look: it is there, or the loop does not reach past the end
	exit   int    // the exit code that the changed script ends with on the same input
}

// newFix returns the fix that makes the edits.
func newFix(change, effect string, edits ...Edit) *fix {
	return &fix{change: change, effect: effect, edits: edits}
}

// Apply returns the source with the edits made; false if they overlap.
func (s *Module) Apply(edits []Edit) (string, bool) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(s.Source) {
			return "", false
		}
		b.WriteString(s.Source[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(s.Source[at:])
	return b.String(), true
}

// replace returns the edit that replaces n by text.
func replace(n *Expr, text string) Edit { return Edit{n.Start, n.End, text} }

// insertIf returns the edit that inserts `if condition:` in front of st, at its indentation, with a
// body of one line, unless that is empty.
func (s *Module) insertIf(st *Stmt, condition, body string) Edit {
	at := s.lines[s.lineOf(st.Start)-1]
	text := st.Indent + "if " + condition + ":" + s.Newline
	if body != "" {
		text += st.Indent + s.Unit + body + s.Newline
	}
	return Edit{at, at, text}
}

// indentLines returns the edits that indent the lines first to last by one unit.
// Lines that begin inside a string stay unchanged.
func (s *Module) indentLines(first, last int) []Edit {
	var edits []Edit
	inString := s.LinesInStrings(first, last)
	for line := first; line <= last; line++ {
		if strings.TrimSpace(s.LineText(line)) == "" || inString[line] {
			continue
		}
		at := s.lines[line-1]
		indent := s.LineText(line)
		indent = indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
		edits = append(edits, Edit{at + len(indent), at + len(indent), s.Unit})
	}
	return edits
}

// LinesInStrings returns the lines from first to last that begin inside a string.
func (s *Module) LinesInStrings(first, last int) map[int]bool {
	found := map[int]bool{}
	for _, t := range s.Tokens {
		if t.Kind != TokenString && t.Kind != TokenFText || t.Line > last {
			continue
		}
		end := t.Line + strings.Count(s.Source[t.Start:t.End], "\n")
		if t.Kind == TokenFText && end >= first && end > t.Line {
			found[end] = true
		}
		for line := max(first, t.Line+1); line <= min(last, end); line++ {
			found[line] = true
		}
	}
	return found
}
