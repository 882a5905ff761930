package pydebug

import "strings"

// simpleKeywords lists the keywords of statements without a body.
var simpleKeywords = map[string]bool{
	"return": true, "del": true, "assert": true, "raise": true, "import": true, "from": true,
	"global": true, "nonlocal": true, "pass": true, "break": true, "continue": true,
}

// statementKeyword returns the keyword of the statement in tokens[first:last], or
// the empty string. The words match and case are keywords only in front of a block.
func statementKeyword(src string, tokens []token, first, last int) string {
	word := tokenText(src, tokens, first, last)
	if word == "async" {
		word = tokenText(src, tokens, first+1, last)
	}
	soft := (word == "match" || word == "case") && last-first > 2 && tokenText(src, tokens, last-1, last) == ":"
	switch {
	case soft:
		return "match"
	case word != "match" && compound[word], simpleKeywords[word]:
		return word
	}
	return ""
}

func tokenText(src string, tokens []token, i, last int) string {
	if i >= last {
		return ""
	}
	return src[tokens[i].start:tokens[i].end]
}

// newStmt parses the statement in tokens[first:last].
func newStmt(src string, tokens []token, first, last int) *stmt {
	s := &stmt{first: first, last: last, start: tokens[first].start, end: tokens[last-1].end, line: tokens[first].line}
	s.endLine = tokens[last-1].line + strings.Count(src[tokens[last-1].start:s.end], "\n")
	s.keyword = statementKeyword(src, tokens, first, last)
	r := &stmtReader{stmt: s, p: &exprParser{src: src, tokens: tokens, pos: first, end: last}}
	if s.keyword != "" {
		r.p.accept("async")
		r.p.pos++
	}
	r.read()
	for _, e := range s.exprs {
		e.walk(func(n *node) bool {
			if n.kind == nodeWalrus && n.kids[0].kind == nodeName {
				s.names = append(s.names, n.kids[0].op)
			}
			return true
		})
	}
	return s
}

// stmtReader reads the expressions of one statement.
type stmtReader struct {
	stmt *stmt
	p    *exprParser
}

func (r *stmtReader) read() {
	r.structure()
	atColon := compound[r.stmt.keyword] && r.p.pos == r.p.end-1 && r.p.text() == ":"
	r.stmt.exact = !r.p.failed && (r.p.pos >= r.p.end || atColon)
	r.rest()
}

// structure reads the parts of the statement that its keyword announces.
func (r *stmtReader) structure() {
	s := r.stmt
	switch s.keyword {
	case "for":
		r.target(r.p.targets())
		if r.p.accept("in") {
			s.value = r.expr()
		}
	case "def":
		r.def()
	case "import", "from":
		r.imports()
	case "global", "nonlocal", "pass", "break", "continue":
		r.p.pos = r.p.end
	case "with", "except":
		r.aliased()
	case "del":
		s.targets = []*node{r.expr()}
	case "if", "elif", "while", "return", "assert", "raise":
		if r.p.startsExpr() {
			s.value = r.expr()
		}
		if s.keyword == "raise" && r.p.accept("from") {
			r.expr()
		}
	case "":
		r.assignment()
	}
}

// expr reads one expression of the statement.
func (r *stmtReader) expr() *node {
	n := r.p.list()
	r.stmt.exprs = append(r.stmt.exprs, n)
	return n
}

// target records n as a target that the statement assigns.
func (r *stmtReader) target(n *node) {
	s := r.stmt
	s.targets = append(s.targets, n)
	if len(s.exprs) == 0 || s.exprs[len(s.exprs)-1] != n {
		s.exprs = append(s.exprs, n)
	}
	s.names = append(s.names, targetNames(n)...)
}

// targetNames lists the variables that a target assigns. For x[0] and x.y there
// are none.
func targetNames(n *node) []string {
	switch n.kind {
	case nodeName:
		return []string{n.op}
	case nodeTuple, nodeList, nodeParen, nodeStar:
		var names []string
		for _, kid := range n.kids {
			names = append(names, targetNames(kid)...)
		}
		return names
	}
	return nil
}

var augmented = map[string]bool{
	"+=": true, "-=": true, "*=": true, "/=": true, "//=": true, "%=": true, "**=": true,
	"@=": true, "&=": true, "|=": true, "^=": true, ">>=": true, "<<=": true,
}

// assignment reads a = b = value, a += value, a: type = value or an expression.
func (r *stmtReader) assignment() {
	s := r.stmt
	n := r.expr()
	if r.p.accept(":") {
		r.p.item()
	}
	for op := r.p.text(); !r.p.failed && (op == "=" || augmented[op]); op = r.p.text() {
		r.p.pos++
		s.op = op
		r.target(n)
		n = r.expr()
	}
	s.value = n
}

// def reads the name, the parameters and their defaults.
func (r *stmtReader) def() {
	s := r.stmt
	s.names = []string{r.p.text()}
	r.p.pos++
	if r.p.text() != "(" {
		return
	}
	r.p.inside(func() {
		for r.p.pos < r.p.end && !r.p.failed {
			r.parameter()
		}
	})
	r.p.pos = r.p.end
}

// parameter reads one parameter; its name is a target of the def.
func (r *stmtReader) parameter() {
	if !r.p.accept("*") {
		r.p.accept("**")
	}
	if r.p.accept(",") || r.p.accept("/") {
		r.p.accept(",")
		return
	}
	r.stmt.targets = append(r.stmt.targets, r.p.atom())
	if r.p.accept(":") {
		r.p.expr()
	}
	if r.p.accept("=") {
		r.stmt.exprs = append(r.stmt.exprs, r.p.expr())
	}
	if !r.p.accept(",") && r.p.pos < r.p.end {
		r.p.failed = true
	}
}

// imports collects the names that an import binds.
func (r *stmtReader) imports() {
	start := r.p.pos
	for i := start; i < r.stmt.last; i++ {
		if r.p.tokens[i].kind != tokenName {
			continue
		}
		word := tokenText(r.p.src, r.p.tokens, i, r.stmt.last)
		if word == "import" && r.stmt.keyword == "from" {
			r.stmt.names = nil
		} else if word != "as" {
			r.stmt.names = append(r.stmt.names, word)
		}
	}
	r.p.pos = r.p.end
}

// aliased reads the expressions of a with or an except, with their `as` targets.
func (r *stmtReader) aliased() {
	for r.p.pos < r.p.end && !r.p.failed && r.p.text() != ":" {
		n := r.p.expr()
		r.stmt.exprs = append(r.stmt.exprs, n)
		if r.stmt.value == nil {
			r.stmt.value = n
		}
		if r.p.accept("as") {
			r.target(r.p.target())
		}
		if !r.p.accept(",") {
			return
		}
	}
}

// rest reads the expressions after the part that the statement's rule has read,
// such as the arguments of Python 2's print, so that no subscript is missed.
func (r *stmtReader) rest() {
	for r.p.pos < r.p.end {
		r.p.failed = false
		if !r.p.startsExpr() {
			r.p.pos++
			continue
		}
		r.p.depth = 0
		before := r.p.pos
		r.expr()
		r.p.pos = max(r.p.pos, before+1)
	}
}
