package pydebug

import (
	"errors"
	"fmt"
	"strings"
)

// Module is the structure of a Python source, for packages that analyse code without a traceback.
// [Parse] makes it. It never changes, so it is safe for concurrent use.
type Module struct {
	Source  string
	Newline string  // the first line ending of the source; "\n" if there is none
	Unit    string  // one step of indentation
	Tokens  []Token // without comments
	All     []*Stmt // every statement, in the order of the source

	script *script
}

// TokenKind is the kind of a [Token].
type TokenKind = tokenKind

// The kinds of tokens.
const (
	TokenName    = tokenName // a name or a keyword
	TokenNumber  = tokenNumber
	TokenString  = tokenString // a string or bytes literal without interpolation
	TokenFStart  = tokenFStart // the prefix and opening quote of an f-string
	TokenFText   = tokenFText  // the text of an f-string between interpolations
	TokenFEnd    = tokenFEnd   // the closing quote of an f-string
	TokenOp      = tokenOp
	TokenNewline = tokenNewline // the end of a logical line; it has no text
)

// Token is one lexical element. Start and End are byte offsets, Line counts from 1.
type Token struct {
	Kind             TokenKind
	Text             string
	Start, End, Line int
}

// Stmt is one statement: of a compound statement, the header.
type Stmt struct {
	Keyword       string // such as "if", "def" and "return"; empty for an expression or an assignment
	Indent        string
	Start, End    int // byte offsets
	Line, EndLine int // lines, from 1
	First, Last   int // its tokens are Module.Tokens[First:Last]
	StartsLine    bool
	Parent        *Stmt // the statement whose body it is in; nil at module level
	Previous      *Stmt // the statement before it in its block; nil for the first
	Next          *Stmt // the statement after it in its block; nil for the last
	Body          []*Stmt

	Op      string   // of an assignment: "=", "+=" and so on
	Targets []*Expr  // of an assignment, a for, a with, a def
	Value   *Expr    // of an assignment, a return, a condition, an iterable; nil for none
	Exprs   []*Expr  // every expression of the header
	Names   []string // the names that it binds
}

// ExprKind is the kind of an [Expr].
type ExprKind = nodeKind

// The kinds of expressions that other packages tell apart.
const (
	ExprName      = nodeName // Op is the name
	ExprNumber    = nodeNumber
	ExprString    = nodeString
	ExprAttr      = nodeAttr      // Op is the attribute; Kids: value
	ExprSubscript = nodeSubscript // Kids: base, index
	ExprCall      = nodeCall      // Kids: function, arguments
	ExprKeyword   = nodeKeyword   // name=value in a call; Kids: value
	ExprStar      = nodeStar
	ExprNot       = nodeNot
	ExprCompare   = nodeCompare // Op is the operator; Kids: both sides. A chain nests to the left
	ExprTernary   = nodeTernary
	ExprLambda    = nodeLambda
	ExprWalrus    = nodeWalrus
	ExprYield     = nodeYield
	ExprUnary     = nodeUnary
	ExprParen     = nodeParen // Kids: the content
	ExprTuple     = nodeTuple
	ExprList      = nodeList
	ExprDict      = nodeDict
	ExprComp      = nodeComp
)

// Expr is one expression. Start and End are byte offsets, brackets included.
type Expr struct {
	Kind       ExprKind
	Op         string // the operator, the name, or the opening bracket; see the kinds
	Start, End int
	Kids       []*Expr
}

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
	s := parseScript(code)
	if s.problem != nil {
		return nil, &SyntaxError{s.problem.line, s.problem.what}
	}
	m := &Module{Source: code, Newline: s.newline, Unit: s.unit, script: s}
	for _, t := range s.tokens {
		m.Tokens = append(m.Tokens, Token{t.kind, code[t.start:t.end], t.start, t.end, t.line})
	}
	for _, st := range s.all {
		if !st.exact && st.keyword != "class" && !strings.HasPrefix(code[st.start:], "@") {
			return nil, &SyntaxError{st.line, "this statement is not understood"}
		}
	}
	m.block(s.root, nil)
	return m, nil
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

// block returns the statements of one block.
func (m *Module) block(from []*stmt, parent *Stmt) []*Stmt {
	out := make([]*Stmt, 0, len(from))
	for _, st := range from {
		o := &Stmt{
			Keyword: st.keyword, Indent: st.indent, Start: st.start, End: st.end, Line: st.line, EndLine: st.endLine,
			First: st.first, Last: st.last, StartsLine: st.startsLine, Parent: parent,
			Op: st.op, Targets: exprsOf(st.targets), Value: exprOf(st.value), Exprs: exprsOf(st.exprs), Names: st.names,
		}
		if n := len(out); n > 0 {
			o.Previous, out[n-1].Next = out[n-1], o
		}
		m.All = append(m.All, o)
		out = append(out, o)
		o.Body = m.block(st.body, o)
	}
	return out
}

func exprsOf(from []*node) []*Expr {
	out := make([]*Expr, len(from))
	for i, n := range from {
		out[i] = exprOf(n)
	}
	return out
}

func exprOf(n *node) *Expr {
	if n == nil {
		return nil
	}
	return &Expr{Kind: n.kind, Op: n.op, Start: n.start, End: n.end, Kids: exprsOf(n.kids)}
}

// Has reports whether e or an expression in it satisfies test. A nil e has none.
func (e *Expr) Has(test func(*Expr) bool) bool {
	if e == nil {
		return false
	}
	if test(e) {
		return true
	}
	for _, kid := range e.Kids {
		if kid.Has(test) {
			return true
		}
	}
	return false
}

// Function returns the def that s runs in, or nil at module level and in the body of a class
// outside of any function. The statements of a class in a function run in that function.
func (s *Stmt) Function() *Stmt {
	for p := s.Parent; p != nil; p = p.Parent {
		if p.Keyword == "def" {
			return p
		}
	}
	return nil
}

// Deepest returns the last statement of s and its body.
func (s *Stmt) Deepest() *Stmt {
	for len(s.Body) > 0 {
		s = s.Body[len(s.Body)-1]
	}
	return s
}

// Text returns the source of an expression.
func (m *Module) Text(e *Expr) string { return m.Source[e.Start:e.End] }

// LineStart returns the offset of a line of the source, counted from 1. The line after the last is
// the end of the source.
func (m *Module) LineStart(line int) int {
	if line > len(m.script.lines) {
		return len(m.Source)
	}
	return m.script.lines[line-1]
}

// LineText returns the text of a line, counted from 1, without its ending.
func (m *Module) LineText(line int) string { return m.script.lineText(line) }

// LinesInStrings returns the lines from first to last that begin inside a string.
func (m *Module) LinesInStrings(first, last int) map[int]bool {
	return m.script.linesInStrings(first, last)
}

// IsKeyword reports whether a word cannot be a variable.
func IsKeyword(word string) bool { return keywords[word] }

// Edit replaces the bytes Start to End of a source by Text.
type Edit struct {
	Start, End int
	Text       string
}

// Apply returns the source with the edits made; false if they overlap.
func (m *Module) Apply(edits []Edit) (string, bool) {
	own := make([]edit, len(edits))
	for i, e := range edits {
		own[i] = edit{e.Start, e.End, e.Text}
	}
	return apply(m.Source, own)
}

// Diff returns the difference between two texts in the unified format of patch, under the file name
// a/name and b/name; empty if they are equal.
func Diff(name, before, after string) string { return unifiedDiff(name, before, after) }
