package pydebug

import (
	"sort"
	"strings"
)

// edit replaces src[start:end] by text.
type edit struct {
	start, end int
	text       string
}

// fix is a change that is believed to remove the error.
type fix struct {
	shape      string
	edits      []edit
	change     string // what was changed, a sentence
	effect     string // what that means for the script's behaviour, sentences
	confidence float64
	settled    bool // later uses of the same element need no look: the loop itself was changed
	exit       int  // the exit code that the changed script ends with on the same input
}

// apply returns src with the edits made; false if they overlap.
func apply(src string, edits []edit) (string, bool) {
	sorted := append([]edit(nil), edits...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		return a.start < b.start || a.start == b.start && a.end < b.end
	})
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

// replace is the edit that writes text instead of n.
func replace(n *node, text string) edit { return edit{n.start, n.end, text} }

// before inserts lines in front of st, in its indentation; further indentation
// is written as a tab in the lines and becomes the script's own unit.
func (s *script) before(st *stmt, lines ...string) edit {
	at := s.lines[s.lineOf(st.start)-1]
	return edit{at, at, s.block(st.indent, lines)}
}

// behind inserts lines after st, which ends its line.
func (s *script) behind(st *stmt, lines ...string) edit {
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

// indentLines moves the lines of st and its body one step to the right. Lines
// that begin inside a string stay as they are.
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

// linesInStrings tells which lines between first and last begin inside a string.
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

// lastLine is the last line of st and its body.
func lastLine(st *stmt) int {
	last := st.endLine
	for len(st.body) > 0 {
		st = st.body[len(st.body)-1]
		last = max(last, st.endLine)
	}
	return last
}
