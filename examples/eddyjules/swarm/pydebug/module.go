package pydebug

import (
	"errors"
	"fmt"
	"strings"
)

// SyntaxError is the first place of a source that [Parse] does not understand.
type SyntaxError struct {
	Line int // from 1
	Text string
}

// Error returns the line and the text.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Parse returns the structure of a source. It is strict: the error is [ErrCodeTooLarge], or a
// [*SyntaxError] for code whose structure it does not understand wholly, such as Python 2, type
// parameters and match statements. It does not find every mistake that Python finds.
func Parse(code string) (*Module, error) {
	if len(code) > MaxCode {
		return nil, ErrCodeTooLarge
	}
	s, problem := parse(code)
	if problem != nil {
		return nil, problem
	}
	return s, nil
}

// parse is Parse for code of any length.
func parse(code string) (*Module, *SyntaxError) {
	s := parseScript(code)
	for _, st := range s.All {
		if !st.exact && (s.problem == nil || st.Line < s.problem.Line) {
			s.problem = &SyntaxError{st.Line, "this statement is not understood"}
		}
	}
	return s, s.problem
}

// ParsePart is [Parse] for a part of a file that may be indented as a whole. Then the module's source
// begins with header, a line that makes it a block; header is empty for any other part. The line of an
// error is that of code.
func ParsePart(code string) (m *Module, header string, err error) {
	if first := strings.TrimLeft(code, "\r\n"); first != "" && (first[0] == ' ' || first[0] == '\t') {
		header = "if True:\n"
	}
	m, err = Parse(header + code)
	if problem := (*SyntaxError)(nil); header != "" && errors.As(err, &problem) {
		problem.Line = max(problem.Line-1, 1)
	}
	return m, header, err
}

// Deepest returns the last statement of s and its body.
func (s *Stmt) Deepest() *Stmt {
	for len(s.Body) > 0 {
		s = s.Body[len(s.Body)-1]
	}
	return s
}

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

// Apply returns the source with the edits made; false if they overlap.
func (s *Module) Apply(edits []Edit) (string, bool) { return apply(s.Source, edits) }
