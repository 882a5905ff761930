package pydebug

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Module is the structure of a Python source. [ParsePart] makes it. It never changes, so it is safe
// for concurrent use.
type Module struct {
	Source  string
	Header  string  // what the source begins with in front of a part that is indented as a whole: a line that makes it a block
	Tokens  []Token // without comments
	All     []*Stmt // every statement in the order of the source
	lines   []int   // where each line starts
	Newline string  // the first line ending of the source; "\n" if there is none
	Unit    string  // one step of indentation
}

// SyntaxError is the first place of a source that is not understood.
type SyntaxError struct {
	Line int // from 1
	Text string
}

// Error returns the line and the text.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// parse returns the structure of a source of any length.
func parse(code string) (*Module, *SyntaxError) {
	tokens, problem := tokenize(code)
	if problem != nil {
		return nil, problem
	}
	p := &parser{src: code, tokens: tokens}
	if p.column() > 0 {
		p.misplaced("an unexpected indentation")
	}
	p.block(nil, &p.root)
	if p.problem != nil {
		return nil, p.problem
	}
	s := &Module{Source: code, Tokens: tokens, All: p.all, lines: lineStarts(code), Newline: cmp.Or(lineEnding.FindString(code), "\n")}
	s.Unit = s.indentUnit()
	return s, nil
}

// MaxPart is the length of the longest part of a file that [ParsePart] reads, in bytes.
const MaxPart = 64 << 10

// ParsePart returns the structure of a part of a file, which may be indented as a whole. It is
// strict: the error is [ErrCodeTooLarge], or a [*SyntaxError] for code whose structure it does not
// understand wholly, such as Python 2, type parameters and match statements. It does not find every
// mistake that Python finds.
func ParsePart(code string) (*Module, error) {
	if len(code) > MaxPart {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrCodeTooLarge, len(code), MaxPart)
	}
	header := ""
	if first := strings.TrimLeft(code, "\r\n"); first != "" && (first[0] == ' ' || first[0] == '\t') {
		header = "if True:\n"
	}
	m, problem := parse(header + code)
	if problem != nil {
		problem.Line = behind(header, problem.Line)
		return nil, problem
	}
	m.Header = header
	return m, nil
}

// PartLine returns the line of the part that is a line of the source: see [Module].Header.
func (s *Module) PartLine(line int) int { return behind(s.Header, line) }

// behind returns a line of a text counted without the header in front of it.
func behind(header string, line int) int { return max(line-strings.Count(header, "\n"), 1) }

// Text returns the source of an expression.
func (s *Module) Text(e *Expr) string { return s.Source[e.Start:e.End] }

// LineStart returns the offset of a line of the source, counted from 1. The line after the last is
// the end of the source.
func (s *Module) LineStart(line int) int {
	if line > len(s.lines) {
		return len(s.Source)
	}
	return s.lines[line-1]
}

// IsKeyword reports whether a word cannot be a variable.
func IsKeyword(word string) bool { return keywords[word] }

var lineEnding = regexp.MustCompile("\r\n|\r|\n")

// lineStarts returns the offsets at which the lines of src begin.
func lineStarts(src string) []int {
	starts := []int{len(src) - len(strings.TrimPrefix(src, "\ufeff"))}
	for _, at := range lineEnding.FindAllStringIndex(src, -1) {
		starts = append(starts, at[1])
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
	first := sort.Search(len(s.Tokens), func(i int) bool { return s.Tokens[i].Start >= n.Start })
	var b strings.Builder
	end := n.Start
	for _, t := range s.Tokens[first:] {
		if t.Start >= n.End {
			break
		}
		if t.Start > end {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
		end = t.End
	}
	return b.String()
}

// bindings returns the statements that assign a name.
func (s *Module) bindings(name string) []*Stmt {
	return slices.DeleteFunc(slices.Clone(s.All), func(st *Stmt) bool { return !st.binds(name) })
}

// assignment returns the statement that most probably assigned the value of name
// at use: the nearest one before it in the same function, else one in the module.
func (s *Module) assignment(name string, use *Stmt) *Stmt {
	var local, global *Stmt
	function := use.Function()
	for _, b := range s.bindings(name) {
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
	if function != nil && function.HasParameter(name) {
		return function
	}
	return global
}

// HasParameter reports whether the def s has a parameter of that name.
func (s *Stmt) HasParameter(name string) bool {
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
		n = n.Unparen()
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
