package pydebug

import "strings"

// simpleKeywords lists the keywords of statements without a body.
var simpleKeywords = map[string]bool{
	"return": true, "del": true, "assert": true, "raise": true, "import": true, "from": true,
	"global": true, "nonlocal": true, "pass": true, "break": true, "continue": true,
}

// statementKeyword returns the keyword of the statement in tokens[first:last], or
// the empty string.
func statementKeyword(src string, tokens []Token, first, last int) string {
	word := tokenText(src, tokens, first, last)
	if word == "async" {
		word = tokenText(src, tokens, first+1, last)
	}
	if compound[word] || simpleKeywords[word] {
		return word
	}
	return ""
}

func tokenText(src string, tokens []Token, i, last int) string {
	if i >= last {
		return ""
	}
	return src[tokens[i].Start:tokens[i].End]
}

// newStmt parses the statement in tokens[first:last].
func newStmt(src string, tokens []Token, first, last int) *Stmt {
	s := &Stmt{First: first, Last: last, Start: tokens[first].Start, End: tokens[last-1].End, Line: tokens[first].Line}
	s.EndLine = tokens[last-1].Line + strings.Count(src[tokens[last-1].Start:s.End], "\n")
	s.Keyword = statementKeyword(src, tokens, first, last)
	r := &stmtReader{stmt: s, p: &exprParser{src: src, tokens: tokens, pos: first, end: last}}
	if s.Keyword != "" {
		r.p.accept("async")
		r.p.pos++
	}
	r.read()
	for _, e := range s.Exprs {
		e.walk(func(n *Expr) bool {
			if n.Kind == ExprWalrus && n.Kids[0].Kind == ExprName {
				s.Names = append(s.Names, n.Kids[0].Op)
			}
			return true
		})
	}
	return s
}

// stmtReader reads the expressions of one statement.
type stmtReader struct {
	stmt *Stmt
	p    *exprParser
}

func (r *stmtReader) read() {
	r.structure()
	atColon := compound[r.stmt.Keyword] && r.p.pos == r.p.end-1 && r.p.text() == ":"
	r.stmt.exact = !r.p.failed && (r.p.pos >= r.p.end || atColon)
}

// structure reads the parts of the statement that its keyword announces.
func (r *stmtReader) structure() {
	s := r.stmt
	switch s.Keyword {
	case "for":
		r.target(r.p.targets())
		if r.p.accept("in") {
			s.Value = r.expr()
		}
	case "def":
		r.def()
	case "class":
		r.expr() // the bases, as if they were arguments
	case "import", "from":
		r.imports()
	case "global", "nonlocal", "pass", "break", "continue":
		r.p.pos = r.p.end
	case "with", "except":
		r.aliased()
	case "del":
		s.Targets = []*Expr{r.expr()}
	case "if", "elif", "while", "return", "assert", "raise":
		if r.p.startsExpr() {
			s.Value = r.expr()
		}
		if s.Keyword == "raise" && r.p.accept("from") {
			r.expr()
		}
	case "":
		r.assignment()
	}
}

// expr reads one expression of the statement.
func (r *stmtReader) expr() *Expr {
	n := r.p.list()
	r.stmt.Exprs = append(r.stmt.Exprs, n)
	return n
}

// target records n as a target that the statement assigns.
func (r *stmtReader) target(n *Expr) {
	s := r.stmt
	s.Targets = append(s.Targets, n)
	if len(s.Exprs) == 0 || s.Exprs[len(s.Exprs)-1] != n {
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

var augmented = map[string]bool{
	"+=": true, "-=": true, "*=": true, "/=": true, "//=": true, "%=": true, "**=": true,
	"@=": true, "&=": true, "|=": true, "^=": true, ">>=": true, "<<=": true,
}

// assignment reads a = b = value, a += value, a: type = value or an expression.
func (r *stmtReader) assignment() {
	s := r.stmt
	r.p.accept("@") // of a decorator
	n := r.expr()
	if r.p.accept(":") {
		r.p.item()
	}
	for op := r.p.text(); !r.p.failed && (op == "=" || augmented[op]); op = r.p.text() {
		r.p.pos++
		s.Op = op
		r.target(n)
		n = r.expr()
	}
	s.Value = n
}

// def reads the name, the parameters and their defaults.
func (r *stmtReader) def() {
	s := r.stmt
	s.Names = []string{r.p.text()}
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
	r.stmt.Targets = append(r.stmt.Targets, r.p.atom())
	if r.p.accept(":") {
		r.p.expr()
	}
	if r.p.accept("=") {
		r.stmt.Exprs = append(r.stmt.Exprs, r.p.expr())
	}
	if !r.p.accept(",") && r.p.pos < r.p.end {
		r.p.failed = true
	}
}

// imports collects the names that an import binds.
func (r *stmtReader) imports() {
	start := r.p.pos
	for i := start; i < r.stmt.Last; i++ {
		if r.p.tokens[i].Kind != TokenName {
			continue
		}
		word := tokenText(r.p.src, r.p.tokens, i, r.stmt.Last)
		if word == "import" && r.stmt.Keyword == "from" {
			r.stmt.Names = nil
		} else if word != "as" {
			r.stmt.Names = append(r.stmt.Names, word)
		}
	}
	r.p.pos = r.p.end
}

// aliased reads the expressions of a with or an except, with their `as` targets.
func (r *stmtReader) aliased() {
	for r.p.pos < r.p.end && !r.p.failed && r.p.text() != ":" {
		n := r.p.expr()
		r.stmt.Exprs = append(r.stmt.Exprs, n)
		if r.stmt.Value == nil {
			r.stmt.Value = n
		}
		if r.p.accept("as") {
			r.target(r.p.target())
		}
		if !r.p.accept(",") {
			return
		}
	}
}
