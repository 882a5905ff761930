package pydebug

import (
	"slices"
	"sort"
	"strings"
)

// script is a parsed source.
type script struct {
	src      string
	tokens   []token
	root     []*stmt
	all      []*stmt            // every statement in the order of the source
	bindings map[string][]*stmt // the statements that assign a name
	lines    []int              // where each line starts
	newline  string             // the style of the first line ending
	unit     string             // one step of indentation
	problem  *syntaxProblem
	passes   int // searches of the whole source so far; see allowPass
}

// maxPasses bounds the searches of the whole source in one diagnosis.
const maxPasses = 50

// parseScript parses src as far as it can. It never fails: problem is the first
// syntax error.
func parseScript(src string) *script {
	s := &script{src: src, bindings: map[string][]*stmt{}}
	s.tokens, s.problem = tokenize(src)
	var blocks *syntaxProblem
	s.root, blocks = parseBlocks(src, s.tokens)
	if s.problem == nil {
		s.problem = blocks
	}
	for _, root := range s.root {
		root.walk(s.index)
	}
	s.lines = lineStarts(src)
	s.newline = "\n"
	if i := strings.IndexAny(src, "\r\n"); i >= 0 {
		s.newline = newlineAt(src, i)
	}
	s.unit = s.indentUnit()
	return s
}

func (s *script) index(st *stmt) bool {
	s.all = append(s.all, st)
	for _, name := range st.names {
		s.bindings[name] = append(s.bindings[name], st)
	}
	return true
}

func newlineAt(src string, i int) string {
	switch {
	case strings.HasPrefix(src[i:], "\r\n"):
		return "\r\n"
	case src[i] == '\r':
		return "\r"
	}
	return "\n"
}

func lineStarts(src string) []int {
	starts := []int{len(src) - len(strings.TrimPrefix(src, "\ufeff"))}
	for i := 0; i < len(src); i++ {
		if src[i] != '\n' && src[i] != '\r' {
			continue
		}
		i += len(newlineAt(src, i)) - 1
		starts = append(starts, i+1)
	}
	return starts
}

// indentUnit returns the first step of indentation in the source; four spaces if
// there is none.
func (s *script) indentUnit() string {
	for _, st := range s.all {
		if st.parent != nil && st.startsLine && len(st.indent) > len(st.parent.indent) {
			return st.indent[len(st.parent.indent):]
		}
	}
	return "    "
}

// lineText returns the text of a 1-based line without its ending; empty if there
// is no such line.
func (s *script) lineText(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	rest := s.src[s.lines[line-1]:]
	return rest[:lineLength(rest)]
}

// lineOf returns the 1-based line of a byte offset.
func (s *script) lineOf(offset int) int {
	return max(1, sort.SearchInts(s.lines, offset+1))
}

// text returns the source of n, joined to one line.
func (s *script) text(n *node) string {
	raw := s.src[n.start:n.end]
	if !strings.ContainsAny(raw, "\r\n") {
		return raw
	}
	return joinLines(raw)
}

// joinLines drops line endings, backslashes and comments between tokens.
func joinLines(raw string) string {
	tokens, _ := tokenize("(" + raw + ")")
	var b strings.Builder
	end := 1
	for i, t := range tokens[1:max(1, len(tokens)-2)] {
		if i > 0 && t.start > end {
			b.WriteByte(' ')
		}
		b.WriteString(raw[t.start-1 : t.end-1])
		end = t.end
	}
	return b.String()
}

// statementsOn returns the statements whose own lines include line.
func (s *script) statementsOn(line int) []*stmt {
	var found []*stmt
	for _, st := range s.all {
		if st.line <= line && line <= st.endLine {
			found = append(found, st)
		}
	}
	return found
}

// assignment returns the statement that most probably assigned the value of name
// at use: the nearest one before it in the same function, else one in the module.
func (s *script) assignment(name string, use *stmt) *stmt {
	var local, global *stmt
	function := use.function()
	for _, b := range s.bindings[name] {
		switch scope := b.function(); {
		case scope == function && (b.start <= use.start || local == nil):
			local = b
		case scope == nil:
			global = b
		}
	}
	if local != nil {
		return local
	}
	if function != nil && function.hasParameter(name) {
		return function
	}
	return global
}

// hasParameter reports whether the def s has a parameter of that name.
func (s *stmt) hasParameter(name string) bool {
	return slices.ContainsFunc(s.targets, func(t *node) bool { return t.kind == nodeName && t.op == name })
}

// has reports whether any expression of the script satisfies test.
func (s *script) has(test func(*node) bool) bool {
	return slices.ContainsFunc(s.all, func(st *stmt) bool { return st.has(test) })
}

// assignedValue returns the value of the plain assignment `name = value` that is
// in effect at use, or nil.
func (s *script) assignedValue(name string, use *stmt) *node {
	a := s.assignment(name, use)
	if a == nil || a == use || a.op != "=" || len(a.targets) == 0 || !a.targets[0].is(nodeName) {
		return nil
	}
	return a.value
}

// resolve replaces a name by its assigned value, at most four times. It returns
// any other expression unchanged.
func (s *script) resolve(n *node, use *stmt) *node {
	for range 4 {
		n = n.unparen()
		if !n.is(nodeName) {
			return n
		}
		value := s.assignedValue(n.op, use)
		if value == nil {
			return n
		}
		n = value
	}
	return n
}
