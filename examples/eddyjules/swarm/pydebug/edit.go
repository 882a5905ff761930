package pydebug

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces the bytes start to end of the source by text.
type edit struct {
	start, end int
	text       string
}

// fix is a change that is expected to remove the error. Its fields become those of
// the Diagnosis.
type fix struct {
	shape      string
	edits      []edit
	change     string // the change, as a sentence for the user
	effect     string // the change in the script's behaviour, as sentences for the user
	confidence float64
	final      bool // later uses of the same element need no look: the loop itself was changed
	exit       int  // the exit code that the changed script ends with on the same input
}

// apply returns src with the edits made; false if the edits overlap.
func apply(src string, edits []edit) (string, bool) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.start < at || e.end < e.start || e.end > len(src) {
			return "", false
		}
		b.WriteString(src[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(src[at:])
	return b.String(), true
}

// replace returns the edit that replaces n by text.
func replace(n *node, text string) edit { return edit{n.start, n.end, text} }

// insertBefore returns the edit that inserts lines in front of st, at its
// indentation. Each leading tab of a line becomes one indentation unit of the
// script.
func (s *script) insertBefore(st *stmt, lines ...string) edit {
	at := s.lines[s.lineOf(st.start)-1]
	return edit{at, at, s.block(st.indent, lines)}
}

// insertAfter returns the edit that inserts lines after st, which must be the last
// statement of its line.
func (s *script) insertAfter(st *stmt, lines ...string) edit {
	if st.endLine < len(s.lines) {
		at := s.lines[st.endLine]
		return edit{at, at, s.block(st.indent, lines)}
	}
	text := s.block(st.indent, lines)
	return edit{len(s.src), len(s.src), s.newline + strings.TrimSuffix(text, s.newline)}
}

func (s *script) block(indent string, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		rest := strings.TrimLeft(line, "\t")
		b.WriteString(indent + strings.Repeat(s.unit, len(line)-len(rest)) + rest + s.newline)
	}
	return b.String()
}

// indentLines returns the edits that indent the lines first to last by one unit.
// Lines that begin inside a string stay unchanged.
func (s *script) indentLines(first, last int) []edit {
	var edits []edit
	inString := s.linesInStrings(first, last)
	for line := first; line <= last; line++ {
		if strings.TrimSpace(s.lineText(line)) == "" || inString[line] {
			continue
		}
		at := s.lines[line-1]
		indent := s.lineText(line)
		indent = indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
		edits = append(edits, edit{at + len(indent), at + len(indent), s.unit})
	}
	return edits
}

// linesInStrings returns the lines from first to last that begin inside a string.
func (s *script) linesInStrings(first, last int) map[int]bool {
	found := map[int]bool{}
	for _, t := range s.tokens {
		if t.kind != tokenString && t.kind != tokenFText || t.line > last {
			continue
		}
		end := t.line + strings.Count(s.src[t.start:t.end], "\n")
		if t.kind == tokenFText && end >= first && end > t.line {
			found[end] = true
		}
		for line := max(first, t.line+1); line <= min(last, end); line++ {
			found[line] = true
		}
	}
	return found
}

// lastLine returns the number of the last line of st and its body.
func lastLine(st *stmt) int {
	last := st.endLine
	for len(st.body) > 0 {
		st = st.body[len(st.body)-1]
		last = max(last, st.endLine)
	}
	return last
}
