package pydebug

import (
	"slices"
	"sort"
	"strings"
)

// Module is the structure of a Python source. [Parse] makes it. It never changes, so it is safe for
// concurrent use.
type Module struct {
	Source   string
	Tokens   []Token // without comments
	root     []*Stmt
	All      []*Stmt            // every statement in the order of the source
	bindings map[string][]*Stmt // the statements that assign a name
	lines    []int              // where each line starts
	Newline  string             // the first line ending of the source; "\n" if there is none
	Unit     string             // one step of indentation
	problem  *SyntaxError
}

// parseScript parses src as far as it can. It never fails: problem is the first
// syntax error.
func parseScript(src string) *Module {
	s := &Module{Source: src, bindings: map[string][]*Stmt{}}
	s.Tokens, s.problem = tokenize(src)
	var blocks *SyntaxError
	s.root, blocks = parseBlocks(src, s.Tokens)
	if s.problem == nil {
		s.problem = blocks
	}
	for _, root := range s.root {
		root.walk(s.index)
	}
	s.lines = lineStarts(src)
	s.Newline = "\n"
	if i := strings.IndexAny(src, "\r\n"); i >= 0 {
		s.Newline = newlineAt(src, i)
	}
	s.Unit = s.indentUnit()
	return s
}

func (s *Module) index(st *Stmt) bool {
	s.All = append(s.All, st)
	for _, name := range st.Names {
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
func (s *Module) indentUnit() string {
	for _, st := range s.All {
		if st.Parent != nil && st.StartsLine && len(st.Indent) > len(st.Parent.Indent) {
			return st.Indent[len(st.Parent.Indent):]
		}
	}
	return "    "
}

// LineText returns the text of a 1-based line without its ending; empty if there
// is no such line.
func (s *Module) LineText(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	rest := s.Source[s.lines[line-1]:]
	return rest[:lineLength(rest)]
}

// lineOf returns the 1-based line of a byte offset.
func (s *Module) lineOf(offset int) int {
	return max(1, sort.SearchInts(s.lines, offset+1))
}

// text returns the source of n, joined to one line.
func (s *Module) text(n *Expr) string {
	raw := s.Source[n.Start:n.End]
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
		if i > 0 && t.Start > end {
			b.WriteByte(' ')
		}
		b.WriteString(raw[t.Start-1 : t.End-1])
		end = t.End
	}
	return b.String()
}

// statementsOn returns the statements whose own lines include line.
func (s *Module) statementsOn(line int) []*Stmt {
	var found []*Stmt
	for _, st := range s.All {
		if st.Line <= line && line <= st.EndLine {
			found = append(found, st)
		}
	}
	return found
}

// assignment returns the statement that most probably assigned the value of name
// at use: the nearest one before it in the same function, else one in the module.
func (s *Module) assignment(name string, use *Stmt) *Stmt {
	var local, global *Stmt
	function := use.Function()
	for _, b := range s.bindings[name] {
		switch scope := b.Function(); {
		case scope == function && (b.Start <= use.Start || local == nil):
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
func (s *Stmt) hasParameter(name string) bool {
	return slices.ContainsFunc(s.Targets, func(t *Expr) bool { return t.Kind == ExprName && t.Op == name })
}

// assignedValue returns the value of the plain assignment `name = value` that is
// in effect at use, or nil.
func (s *Module) assignedValue(name string, use *Stmt) *Expr {
	a := s.assignment(name, use)
	if a == nil || a == use || a.Op != "=" || len(a.Targets) == 0 || !a.Targets[0].is(ExprName) {
		return nil
	}
	return a.Value
}

// resolve replaces a name by its assigned value, at most four times. It returns
// any other expression unchanged.
func (s *Module) resolve(n *Expr, use *Stmt) *Expr {
	for range 4 {
		n = n.unparen()
		if !n.is(ExprName) {
			return n
		}
		value := s.assignedValue(n.Op, use)
		if value == nil {
			return n
		}
		n = value
	}
	return n
}
