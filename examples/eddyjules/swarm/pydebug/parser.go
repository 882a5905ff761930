package pydebug

import (
	"slices"
	"strings"
)

// parser reads the statements of a source. It accepts a superset of Python. The first
// error drops the tokens that are left, which ends every loop.
type parser struct {
	src     string
	tokens  []Token
	pos     int
	depth   int // of nested blocks and expressions
	stmt    *Stmt
	root    []*Stmt
	all     []*Stmt
	problem *SyntaxError
}

// literal is the text of a token that is neither a name nor an operator.
const literal = "\x00"

// compound lists the keywords of statements with a body.
var compound = SetOf(`if elif else for while try except finally with def class`)

// simple lists the keywords of statements without a body.
var simple = SetOf(`return del assert raise import from global nonlocal pass break continue`)

// augmented are the operators of assignments that also read their target.
var augmented = SetOf(`+= -= *= /= //= %= **= @= &= |= ^= >>= <<=`)

// token returns the current token; behind the last one, the end of a line.
func (p *parser) token() Token {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos]
	}
	return Token{Kind: TokenNewline}
}

// text returns the current token if it is a name or an operator; empty at the end of
// a line.
func (p *parser) text() string { return p.textAt(p.pos) }

func (p *parser) textAt(i int) string {
	switch {
	case i >= len(p.tokens):
		return ""
	case p.tokens[i].Kind == TokenName || p.tokens[i].Kind == TokenOp || p.tokens[i].Kind == TokenNewline:
		return p.tokens[i].Text
	}
	return literal
}

func (p *parser) accept(text string) bool {
	if p.text() == text && !p.atEnd() {
		p.pos++
		return true
	}
	return false
}

// atEnd reports whether the current logical line has no more tokens.
func (p *parser) atEnd() bool { return p.text() == "" }

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.misread()
	}
}

// name reads a name, which may be a keyword.
func (p *parser) name() string {
	t := p.token()
	if t.Kind != TokenName {
		p.misread()
		return ""
	}
	p.pos++
	return t.Text
}

// lastEnd returns the end offset of the last token read; 0 after an error.
func (p *parser) lastEnd() int {
	if p.problem != nil {
		return 0
	}
	return p.tokens[p.pos-1].End
}

// node makes a node from start to the last token read.
func (p *parser) node(k ExprKind, op string, start int, kids ...*Expr) *Expr {
	n := newNode(k, start, p.lastEnd(), kids...)
	n.Op = op
	return n
}

// nest counts one more level of nesting, and returns the function that leaves it.
func (p *parser) nest(what string) (leave func()) {
	p.depth++
	if p.depth > maxNesting {
		p.fail(what)
	}
	return func() { p.depth-- }
}

// misread is fail for a token that has no meaning at its place.
func (p *parser) misread() *Expr {
	if compound[p.stmt.Keyword] && p.atEnd() {
		return p.fail("'" + p.stmt.Keyword + "' without its ':'")
	}
	return p.fail("this statement is not understood")
}

// fail records the first error, at the line of the current statement. It returns an
// empty name, so that no node is nil.
func (p *parser) fail(what string) *Expr {
	if p.problem == nil {
		p.problem = &SyntaxError{p.stmt.Line, what}
	}
	p.tokens, p.pos = nil, 0
	return newNode(ExprName, 0, 0)
}

// column returns the column of the current token, which begins a line.
func (p *parser) column() int { return columnOf(p.indent()) }

// columnOf returns the column after indent. As in Python, a tab extends to the next
// multiple of eight.
func columnOf(indent string) int {
	n := 0
	for i := range len(indent) {
		if indent[i] == '\t' {
			n += 8 - n%8
		} else {
			n++
		}
	}
	return n
}

// indent returns the white space in front of the line of the current token.
func (p *parser) indent() string {
	before := p.src[:p.token().Start]
	line := strings.TrimPrefix(before[strings.LastIndexAny(before, "\r\n")+1:], "\ufeff")
	return line[:len(line)-len(strings.TrimLeft(line, " \t\f"))]
}

// block reads the statements that begin in the column of the first one.
func (p *parser) block(parent *Stmt, into *[]*Stmt) {
	column := p.column()
	for p.pos < len(p.tokens) && p.column() >= column {
		if p.column() > column {
			p.misplaced("an indentation that fits no block")
			return
		}
		p.line(parent, into, p.indent(), true)
	}
}

func (p *parser) misplaced(what string) {
	p.stmt = &Stmt{Line: p.token().Line}
	p.fail(what)
}

// line reads the statements of a logical line, or those of it behind a header.
func (p *parser) line(parent *Stmt, into *[]*Stmt, indent string, startsLine bool) {
	for {
		s := &Stmt{Indent: indent, StartsLine: startsLine, Parent: parent, siblings: into, index: len(*into)}
		*into = append(*into, s)
		p.statement(s)
		if compound[s.Keyword] {
			p.body(s)
			return
		}
		more := p.accept(";")
		if !more && !p.atEnd() {
			p.misread()
		}
		if p.atEnd() {
			s.alone = startsLine
			p.pos = min(p.pos+1, len(p.tokens))
			return
		}
		startsLine = false
	}
}

// statement reads one statement without its body.
func (p *parser) statement(s *Stmt) {
	s.First, s.Start, s.Line = p.pos, p.token().Start, p.token().Line
	p.stmt = s
	p.all = append(p.all, s)
	if p.text() == ";" {
		p.fail("a ';' without a statement")
	}
	p.accept("async")
	if word := p.text(); compound[word] || simple[word] {
		s.Keyword = word
		p.pos++
	}
	p.header(s)
	if compound[s.Keyword] {
		p.expect(":")
	}
	for _, e := range s.Exprs {
		e.walk(func(n *Expr) bool {
			if n.Kind == ExprWalrus && n.Kids[0].Kind == ExprName {
				s.Names = append(s.Names, n.Kids[0].Op)
			}
			return true
		})
	}
	if s.Last = p.pos; p.problem == nil {
		last := p.tokens[p.pos-1]
		s.End, s.EndLine = last.End, last.Line+strings.Count(last.Text, "\n")
	}
}

// body reads the body of a compound statement: the rest of its line, or the block
// under it.
func (p *parser) body(s *Stmt) {
	defer p.nest("too many nested blocks")()
	if !p.atEnd() {
		p.line(s, &s.Body, s.Indent, false)
		return
	}
	column := columnOf(s.Indent)
	p.pos = min(p.pos+1, len(p.tokens))
	if p.pos < len(p.tokens) && p.column() > column {
		p.block(s, &s.Body)
	} else {
		p.fail("'" + s.Keyword + "' without a body")
	}
}

// header reads the parts of the statement that its keyword announces.
func (p *parser) header(s *Stmt) {
	switch s.Keyword {
	case "for":
		p.target(s, p.list(precBitOr))
		p.expect("in")
		s.Value = p.value(s)
	case "def":
		p.def(s)
	case "class":
		p.value(s) // the bases, as if they were arguments
	case "import", "from":
		p.imports(s)
	case "global", "nonlocal":
		for p.text() != ";" && !p.atEnd() {
			p.pos++
		}
	case "with", "except":
		p.aliased(s)
	case "del":
		s.Targets = []*Expr{p.value(s)}
	case "if", "elif", "while", "return", "assert", "raise":
		if p.startsExpr() {
			s.Value = p.value(s)
		}
		if s.Keyword == "raise" && p.accept("from") {
			p.value(s)
		}
	case "":
		p.assignment(s)
	}
}

// value reads one expression of the statement.
func (p *parser) value(s *Stmt) *Expr {
	n := p.list(precLoosest)
	s.Exprs = append(s.Exprs, n)
	return n
}

// target records n as a target that the statement assigns.
func (p *parser) target(s *Stmt, n *Expr) {
	s.Targets = append(s.Targets, n)
	if !slices.Contains(s.Exprs, n) {
		s.Exprs = append(s.Exprs, n)
	}
	s.Names = append(s.Names, targetNames(n)...)
}

// targetNames lists the variables that a target assigns. For x[0] and x.y there
// are none.
func targetNames(n *Expr) []string {
	switch n.Kind {
	case ExprName:
		return []string{n.Op}
	case ExprTuple, ExprList, ExprParen, ExprStar:
		var names []string
		for _, kid := range n.Kids {
			names = append(names, targetNames(kid)...)
		}
		return names
	}
	return nil
}

// assignment reads a = b = value, a += value, a: type = value or an expression.
func (p *parser) assignment(s *Stmt) {
	p.accept("@") // of a decorator
	n := p.value(s)
	if p.accept(":") {
		p.expr(precLoosest)
	}
	for op := p.text(); op == "=" || augmented[op]; op = p.text() {
		p.pos++
		s.Op = op
		p.target(s, n)
		n = p.value(s)
	}
	s.Value = n
}

// def reads the name, the parameters and their defaults. The annotation of the result
// is skipped.
func (p *parser) def(s *Stmt) {
	s.Names = []string{p.name()}
	p.expect("(")
	for p.text() != ")" && !p.atEnd() {
		p.parameter(s)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	if p.accept("->") {
		p.list(precLoosest)
	}
}

// parameter reads one parameter; its name is a target of the def.
func (p *parser) parameter(s *Stmt) {
	if !p.accept("*") {
		p.accept("**")
	}
	if p.text() == "," || p.text() == ")" || p.accept("/") {
		return
	}
	s.Targets = append(s.Targets, p.atom())
	if p.accept(":") {
		p.expr(precLoosest)
	}
	if p.accept("=") {
		s.Exprs = append(s.Exprs, p.expr(precLoosest))
	}
}

// imports collects the names that an import binds.
func (p *parser) imports(s *Stmt) {
	for ; p.text() != ";" && !p.atEnd(); p.pos++ {
		word := p.text()
		switch {
		case word == "import" && s.Keyword == "from":
			s.Names = nil
		case p.token().Kind == TokenName && word != "as":
			s.Names = append(s.Names, word)
		}
	}
}

// aliased reads the expressions of a with or an except, with their `as` targets.
func (p *parser) aliased(s *Stmt) {
	for p.startsExpr() {
		n := p.expr(precLoosest)
		s.Exprs = append(s.Exprs, n)
		if s.Value == nil {
			s.Value = n
		}
		if p.accept("as") {
			p.target(s, p.expr(precBitOr))
		}
		if !p.accept(",") {
			return
		}
	}
}
