package pydebug

// precedence holds the precedence of Python's binary operators; the loosest is 1.
var precedence = map[string]int{
	"or": 1, "and": 2,
	"in": 4, "is": 4, "not": 4, "<": 4, ">": 4, "<=": 4, ">=": 4, "==": 4, "!=": 4, "<>": 4,
	"|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
	"*": 10, "/": 10, "//": 10, "%": 10, "@": 10, "**": 12,
}

// maxOperators bounds a chain of operators, and so the height of its tree:
// a + b + c nests to the left.
const maxOperators = 1000

const (
	precNot   = 3
	precUnary = 11
)

// exprParser reads the expressions in tokens[pos:end]. It accepts a superset of
// Python. At a token that it can't read it sets failed and returns the part that
// it has read.
type exprParser struct {
	src      string
	tokens   []Token
	pos, end int
	depth    int
	failed   bool
}

// text returns the current token if it is a name or an operator; empty at the end.
func (p *exprParser) text() string {
	if p.pos >= p.end {
		return ""
	}
	if t := p.tokens[p.pos]; t.Kind == TokenName || t.Kind == TokenOp {
		return t.Text
	}
	return "\x00" // a literal, which equals no name and no operator
}

func (p *exprParser) accept(text string) bool {
	if p.text() == text {
		p.pos++
		return true
	}
	return false
}

// lastEnd returns the end offset of the last token read.
func (p *exprParser) lastEnd() int {
	if p.pos == 0 {
		return 0
	}
	return p.tokens[p.pos-1].End
}

// fail sets failed and returns an empty name, so that no node is nil.
func (p *exprParser) fail() *Expr {
	p.failed = true
	at := p.lastEnd()
	if p.pos < p.end {
		at = p.tokens[p.pos].Start
	}
	return newNode(ExprName, at, at)
}

// build makes a node from start to the last token read.
func (p *exprParser) build(k ExprKind, start int, kids ...*Expr) *Expr {
	return newNode(k, start, p.lastEnd(), kids...)
}

// list reads expr, expr, …: a tuple if there is a comma.
func (p *exprParser) list() *Expr { return p.commaList(p.item, p.startsExpr) }

// commaList reads elements with read: a tuple if there is a comma. After a comma, more
// reports whether there is another element.
func (p *exprParser) commaList(read func() *Expr, more func() bool) *Expr {
	first := read()
	if p.text() != "," {
		return first
	}
	kids := []*Expr{first}
	for p.accept(",") && more() && !p.failed {
		kids = append(kids, read())
	}
	return p.build(ExprTuple, first.Start, kids...)
}

// startsExpr reports whether an expression can begin at the current token.
func (p *exprParser) startsExpr() bool {
	switch s := p.text(); s {
	case "":
		return false
	case "not", "lambda", "await", "yield", "None", "True", "False", "(", "[", "{", "-", "+", "~", "*", "**", "...", "\x00":
		return true
	default:
		return p.tokens[p.pos].Kind == TokenName && !keywords[s]
	}
}

// item reads one element of a list, which may be starred.
func (p *exprParser) item() *Expr {
	if s := p.text(); s == "*" || s == "**" {
		t := p.tokens[p.pos]
		p.pos++
		n := p.build(ExprStar, t.Start, p.binary(5))
		n.Op = s
		return n
	}
	return p.expr()
}

// expr reads a conditional expression, a lambda, a yield or an x := y.
func (p *exprParser) expr() *Expr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting || p.failed {
		return p.fail()
	}
	switch p.text() {
	case "lambda":
		return p.lambda()
	case "yield":
		return p.yield()
	}
	n := p.binary(1)
	switch {
	case p.accept(":="):
		return p.build(ExprWalrus, n.Start, n, p.expr())
	case p.text() == "if":
		return p.ternary(n)
	}
	return n
}

func (p *exprParser) ternary(then *Expr) *Expr {
	at := p.pos
	p.pos++
	cond := p.binary(1)
	if !p.accept("else") {
		p.pos = at // the if of a comprehension
		return then
	}
	return p.build(ExprTernary, then.Start, then, cond, p.expr())
}

func (p *exprParser) lambda() *Expr {
	t := p.tokens[p.pos]
	p.pos++
	var kids []*Expr
	for p.pos < p.end && p.text() != ":" && !p.failed {
		if p.accept("=") {
			kids = append(kids, p.expr())
			continue
		}
		p.pos++
	}
	if !p.accept(":") {
		return p.fail()
	}
	return p.build(ExprLambda, t.Start, append(kids, p.expr())...)
}

func (p *exprParser) yield() *Expr {
	t := p.tokens[p.pos]
	p.pos++
	p.accept("from")
	var kids []*Expr
	if p.startsExpr() {
		kids = append(kids, p.list())
	}
	return p.build(ExprYield, t.Start, kids...)
}

// binary reads operators that bind at least as tightly as level.
func (p *exprParser) binary(level int) *Expr {
	left := p.unary()
	for steps := 0; !p.failed; steps++ {
		op := p.text()
		prec := precedence[op]
		if prec == 0 || prec < level || op == "not" && !p.notIn() {
			break
		}
		if steps > maxOperators {
			return p.fail()
		}
		left = p.operation(left, op, prec)
	}
	return left
}

// notIn reports whether the current token is the not of "not in".
func (p *exprParser) notIn() bool {
	return p.pos+1 < p.end && p.tokens[p.pos+1].Text == "in"
}

// operation reads op and its right side.
func (p *exprParser) operation(left *Expr, op string, prec int) *Expr {
	p.pos++
	if op == "not" {
		p.pos++
		op = "not in"
	} else if op == "is" && p.accept("not") {
		op = "is not"
	}
	next := prec + 1
	if op == "**" {
		next = precUnary // binds to the right, and looser than a sign after it
	}
	p.depth++
	if p.depth > maxNesting {
		return p.fail()
	}
	right := p.binary(next)
	p.depth--
	n := p.build(binaryKind(prec), left.Start, left, right)
	n.Op = op
	return n
}

func binaryKind(prec int) ExprKind {
	switch {
	case prec <= 2:
		return ExprBool
	case prec == 4:
		return ExprCompare
	}
	return ExprBinary
}

// unary reads not, signs and await in front of a primary.
func (p *exprParser) unary() *Expr {
	op := p.text()
	kind, inner := ExprUnary, precUnary
	switch op {
	case "not":
		kind, inner = ExprNot, precNot
	case "-", "+", "~", "await":
	default:
		return p.trailers(p.atom())
	}
	t := p.tokens[p.pos]
	p.pos++
	p.depth++
	if p.depth > maxNesting {
		return p.fail()
	}
	n := p.build(kind, t.Start, p.binary(inner))
	p.depth--
	n.End = n.Kids[0].End
	n.Op = op
	return n
}

// trailers reads the .name, [index] and (arguments) after the atom n.
func (p *exprParser) trailers(n *Expr) *Expr {
	for steps := 0; !p.failed; steps++ {
		if steps > maxNesting {
			return p.fail()
		}
		switch p.text() {
		case ".":
			n = p.attribute(n)
		case "[":
			n = p.subscript(n)
		case "(":
			n = p.call(n)
		default:
			return n
		}
	}
	return n
}

func (p *exprParser) attribute(value *Expr) *Expr {
	p.pos++
	name := p.text()
	if p.pos >= p.end || p.tokens[p.pos].Kind != TokenName {
		return p.fail()
	}
	p.pos++
	n := p.build(ExprAttr, value.Start, value)
	n.Op = name
	return n
}
