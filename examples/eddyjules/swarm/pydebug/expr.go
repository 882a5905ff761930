package pydebug

// precedence holds the precedence of Python's infix operators and trailers; the
// loosest is 1.
var precedence = map[string]int{
	":=": precLoosest, "if": precLoosest, "or": 2, "and": 3,
	"in": precCompare, "not in": precCompare, "is": precCompare, "is not": precCompare,
	"<": precCompare, ">": precCompare, "<=": precCompare, ">=": precCompare,
	"==": precCompare, "!=": precCompare, "<>": precCompare,
	"|": precBitOr, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10,
	"*": 11, "/": 11, "//": 11, "%": 11, "@": 11, "**": 13, ".": 14, "[": 14, "(": 14,
}

const (
	precLoosest = 1 // of x := y and of a conditional expression
	precOr      = 2
	precNot     = 4
	precCompare = 5
	precBitOr   = 6
	precUnary   = 12
)

// maxOperators bounds a chain of operators, and so the height of its tree:
// a + b + c nests to the left.
const maxOperators = 1000

// expr reads an expression whose operators bind at least as tightly as level.
func (p *parser) expr(level int) *Expr {
	defer p.nest("too many nested expressions")()
	n := p.prefix()
	for steps := 0; ; steps++ {
		op := p.infix()
		if precedence[op] == 0 || precedence[op] < level {
			return n
		}
		if steps > maxOperators {
			return p.fail("too many operators in one expression")
		}
		n = p.operation(n, op)
	}
}

// infix returns the operator at the current token, which may be one of two words.
func (p *parser) infix() string {
	op := p.text()
	if next := p.textAt(p.pos + 1); op == "not" && next == "in" || op == "is" && next == "not" {
		return op + " " + next
	}
	return op
}

// operation reads op and its right side.
func (p *parser) operation(left *Expr, op string) *Expr {
	switch op {
	case "(":
		arguments, _ := p.elements("(")
		return p.node(ExprCall, "", left.Start, append([]*Expr{left}, arguments...)...)
	case "[":
		return p.node(ExprSubscript, "", left.Start, left, p.index())
	case ".":
		p.pos++
		name := p.name()
		return p.node(ExprAttr, name, left.Start, left)
	case "if":
		p.pos++
		condition := p.expr(precOr)
		p.expect("else")
		return p.node(ExprTernary, "", left.Start, left, condition, p.expr(precLoosest))
	}
	p.pos++
	if op == "not in" || op == "is not" {
		p.pos++
	}
	prec := precedence[op]
	kind, right := ExprBinary, prec+1
	switch {
	case prec == precLoosest:
		kind, op, right = ExprWalrus, "", prec
	case prec < precNot:
		kind = ExprBool
	case prec == precCompare:
		kind = ExprCompare
	case op == "**":
		right = precUnary // binds to the right, and looser than a sign after it
	}
	return p.node(kind, op, left.Start, left, p.expr(right))
}

// prefix reads an atom with the operators in front of it.
func (p *parser) prefix() *Expr {
	start := p.token().Start
	op := p.text()
	switch op {
	case "lambda":
		return p.lambda()
	case "yield":
		p.pos++
		p.accept("from")
		if !p.startsExpr() {
			return p.node(ExprYield, "", start)
		}
		return p.node(ExprYield, "", start, p.list(precLoosest))
	case "not":
		p.pos++
		return p.node(ExprNot, op, start, p.expr(precNot))
	case "*", "**":
		p.pos++
		return p.node(ExprStar, op, start, p.expr(precBitOr))
	case "-", "+", "~", "await":
		p.pos++
		return p.node(ExprUnary, op, start, p.expr(precUnary))
	}
	return p.atom()
}

// startsExpr reports whether an expression can begin at the current token.
func (p *parser) startsExpr() bool {
	switch s := p.text(); s {
	case "not", "lambda", "await", "yield", "None", "True", "False", "(", "[", "{", "-", "+", "~", "*", "**", "...", literal:
		return true
	default:
		return p.token().Kind == TokenName && !keywords[s]
	}
}

// list reads expr, expr, …: a tuple if there is a comma.
func (p *parser) list(level int) *Expr {
	first := p.expr(level)
	if p.text() != "," {
		return first
	}
	kids := []*Expr{first}
	for p.accept(",") && p.startsExpr() {
		kids = append(kids, p.expr(level))
	}
	return p.node(ExprTuple, "", first.Start, kids...)
}

func (p *parser) lambda() *Expr {
	start := p.token().Start
	var kids []*Expr
	for p.pos++; p.text() != ":" && !p.atEnd(); {
		if p.accept("=") {
			kids = append(kids, p.expr(precLoosest))
		} else {
			p.pos++
		}
	}
	p.expect(":")
	return p.node(ExprLambda, "", start, append(kids, p.expr(precLoosest))...)
}

// atom reads a name, a literal or something in brackets.
func (p *parser) atom() *Expr {
	t := p.token()
	switch {
	case t.Kind == TokenString || t.Kind == TokenFStart:
		return p.strings()
	case t.Kind == TokenNumber || t.Text == "...":
		p.pos++
		return p.node(ExprNumber, "", t.Start)
	case t.Kind == TokenName && p.startsExpr():
		p.pos++
		return p.node(ExprName, t.Text, t.Start)
	case closers[t.Text] != "":
		return p.display(t.Text)
	}
	return p.misread()
}

// strings reads one or more adjacent string literals as one.
func (p *parser) strings() *Expr {
	start, kind := p.token().Start, ExprString
	var kids []*Expr
	for {
		switch p.token().Kind {
		case TokenString:
			p.pos++
		case TokenFStart:
			kind = ExprFString
			p.pos++
			kids = append(kids, p.fields()...)
			p.pos++
		default:
			return p.node(kind, "", start, kids...)
		}
	}
}

// fields reads the literal text and the {fields} of an f-string or of a format
// specification.
func (p *parser) fields() []*Expr {
	var kids []*Expr
	for {
		start := p.token().Start
		switch {
		case p.token().Kind == TokenFText:
			p.pos++
		case p.accept("{"):
			field := []*Expr{p.list(precLoosest)}
			p.accept("=")
			field = append(field, p.fields()...)
			p.expect("}")
			kids = append(kids, p.node(ExprInterp, "", start, field...))
		default:
			return kids
		}
	}
}

// index reads [index] after a value.
func (p *parser) index() *Expr {
	kids, comma := p.elements("[")
	switch {
	case len(kids) == 0:
		return p.misread()
	case len(kids) == 1 && !comma:
		return kids[0]
	}
	return newNode(ExprTuple, kids[0].Start, kids[len(kids)-1].End, kids...)
}

// display reads (…), […] and {…}: groups, displays and comprehensions.
func (p *parser) display(open string) *Expr {
	start := p.token().Start
	kids, comma := p.elements(open)
	single := len(kids) == 1 && !comma
	if single && kids[0].is(ExprComp) && kids[0].Op == "" {
		kids[0].Op, kids[0].Start, kids[0].End = open, start, p.lastEnd()
		return kids[0]
	}
	kind := map[string]ExprKind{"(": ExprTuple, "[": ExprList, "{": ExprDict}[open]
	switch {
	case open == "(" && single:
		kind = ExprParen
	case open == "{" && len(kids) > 0 && !kids[0].is(ExprPair) && kids[0].Op != "**":
		kind = ExprSet
	}
	return p.node(kind, open, start, kids...)
}

// elements reads the elements of a bracket, and reports whether a comma follows one.
func (p *parser) elements(open string) (kids []*Expr, comma bool) {
	p.pos++
	for p.text() != closers[open] && !p.atEnd() {
		n := p.element(open)
		if p.text() == "for" || p.text() == "async" {
			n = p.node(ExprComp, "", n.Start, append([]*Expr{n}, p.clauses()...)...)
		}
		kids = append(kids, n)
		if !p.accept(",") {
			break
		}
		comma = true
	}
	p.expect(closers[open])
	return kids, comma
}

// element reads one element of a bracket, which may be a slice, key: value or
// name=value.
func (p *parser) element(open string) *Expr {
	start, colons := p.token().Start, 0
	var kids []*Expr
	for more := true; more; {
		switch {
		case p.startsExpr() && len(kids) <= colons:
			kids = append(kids, p.expr(precLoosest))
		case p.accept(":"):
			colons++
		default:
			more = false
		}
	}
	switch {
	case colons == 0 && len(kids) == 1 && kids[0].is(ExprName) && p.accept("="):
		return p.node(ExprKeyword, kids[0].Op, start, p.expr(precLoosest))
	case colons == 0 && len(kids) == 1:
		return kids[0]
	case colons == 1 && len(kids) == 2 && open == "{":
		return p.node(ExprPair, "", start, kids...)
	case colons > 0 && open == "[":
		return p.node(ExprSlice, "", start, kids...)
	}
	return p.misread()
}

// clauses reads the for and if clauses that follow the element of a comprehension.
func (p *parser) clauses() []*Expr {
	var kids []*Expr
	for {
		start := p.token().Start
		switch {
		case p.accept("async"):
		case p.accept("for"):
			target := p.list(precBitOr)
			p.expect("in")
			kids = append(kids, p.node(ExprCompIn, "", start, target, p.expr(precOr)))
		case p.accept("if"):
			kids = append(kids, p.node(ExprCompIf, "", start, p.expr(precOr)))
		default:
			return kids
		}
	}
}
