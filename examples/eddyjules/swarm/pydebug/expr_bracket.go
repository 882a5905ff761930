package pydebug

// closing returns the index of the bracket that closes the one at pos, or -1.
func (p *exprParser) closing() int {
	if m := p.tokens[p.pos].match; m > p.pos && m < p.end {
		return m
	}
	return -1
}

// inside calls read with the parser limited to the content of the bracket at pos,
// and skips the closing bracket. It returns false if there is none.
func (p *exprParser) inside(read func()) bool {
	closing := p.closing()
	if closing < 0 {
		p.fail()
		return false
	}
	end := p.end
	p.pos, p.end = p.pos+1, closing
	read()
	if p.pos < p.end {
		p.failed = true
	}
	p.pos, p.end = closing+1, end
	return true
}

func (p *exprParser) subscript(base *Expr) *Expr {
	var index *Expr
	if !p.inside(func() { index = p.index() }) {
		return base
	}
	return p.build(ExprSubscript, base.Start, base, index)
}

// index reads the content of a subscript's brackets.
func (p *exprParser) index() *Expr {
	return p.commaList(p.slice, func() bool { return p.pos < p.end })
}

func (p *exprParser) slice() *Expr {
	if p.pos >= p.end {
		return p.fail()
	}
	t := p.tokens[p.pos]
	var kids []*Expr
	colons := 0
	for p.pos < p.end && !p.failed && p.text() != "," {
		if p.accept(":") {
			colons++
			continue
		}
		if len(kids) > colons {
			return p.fail()
		}
		kids = append(kids, p.item())
	}
	if colons == 0 && len(kids) == 1 {
		return kids[0]
	}
	return p.build(ExprSlice, t.Start, kids...)
}

func (p *exprParser) call(function *Expr) *Expr {
	kids := []*Expr{function}
	ok := p.inside(func() {
		for p.pos < p.end && !p.failed {
			kids = append(kids, p.argument())
			if !p.accept(",") {
				break
			}
		}
	})
	if !ok {
		return function
	}
	return p.build(ExprCall, function.Start, kids...)
}

func (p *exprParser) argument() *Expr {
	t := p.tokens[p.pos]
	if t.Kind == TokenName && p.pos+1 < p.end && p.tokens[p.pos+1].Text == "=" {
		p.pos += 2
		n := p.build(ExprKeyword, t.Start, p.expr())
		n.Op = t.Text
		return n
	}
	n := p.item()
	if p.startsFor() { // a generator that is the only argument needs no brackets
		return p.build(ExprComp, n.Start, p.clauses(n)...)
	}
	return n
}

func (p *exprParser) startsFor() bool {
	return p.text() == "for" || p.text() == "async"
}

// clauses reads the for and if clauses that follow the element of a comprehension.
func (p *exprParser) clauses(element ...*Expr) []*Expr {
	kids := element
	for !p.failed {
		at := p.pos
		switch {
		case p.accept("async"):
		case p.accept("for"):
			kids = append(kids, p.compIn(at))
		case p.accept("if"):
			kids = append(kids, p.build(ExprCompIf, p.tokens[at].Start, p.condition()))
		default:
			return kids
		}
	}
	return kids
}

// condition reads the condition of a comprehension, which can't be a ternary.
func (p *exprParser) condition() *Expr {
	if p.text() == "lambda" {
		return p.lambda()
	}
	return p.binary(1)
}

func (p *exprParser) compIn(at int) *Expr {
	target := p.targets()
	if !p.accept("in") {
		return p.fail()
	}
	iterable := p.binary(1)
	return p.build(ExprCompIn, p.tokens[at].Start, target, iterable)
}

// targets reads the variables of a for, up to its in.
func (p *exprParser) targets() *Expr {
	return p.commaList(p.target, func() bool { return p.text() != "in" })
}

func (p *exprParser) target() *Expr {
	if p.text() == "*" {
		p.pos++
	}
	return p.trailers(p.atom())
}

// atom reads a name, a literal or something in brackets.
func (p *exprParser) atom() *Expr {
	if p.pos >= p.end || p.failed {
		return p.fail()
	}
	t := p.tokens[p.pos]
	text := p.text()
	switch t.Kind {
	case TokenNumber:
		p.pos++
		return p.build(ExprNumber, t.Start)
	case TokenString, TokenFStart:
		return p.strings()
	case TokenName:
		if keywords[text] && text != "None" && text != "True" && text != "False" {
			return p.fail()
		}
		p.pos++
		n := p.build(ExprName, t.Start)
		n.Op = text
		return n
	}
	if closers[text] != "" {
		return p.bracketed(text)
	}
	if text == "..." {
		p.pos++
		return p.build(ExprNumber, t.Start)
	}
	return p.fail()
}

// strings reads one or more adjacent string literals as one.
func (p *exprParser) strings() *Expr {
	t := p.tokens[p.pos]
	kind := ExprString
	var kids []*Expr
	for p.pos < p.end && !p.failed {
		switch p.tokens[p.pos].Kind {
		case TokenString:
			p.pos++
			continue
		case TokenFStart:
			kind = ExprFString
			p.pos++
			kids = append(kids, p.interpolations()...)
			continue
		}
		break
	}
	return p.build(kind, t.Start, kids...)
}

// interpolations reads an f-string from after its start up to and including its end.
func (p *exprParser) interpolations() []*Expr {
	var kids []*Expr
	for p.pos < p.end && !p.failed {
		t := p.tokens[p.pos]
		switch {
		case t.Kind == TokenFEnd:
			p.pos++
			return kids
		case t.Kind == TokenFText:
			p.pos++
		case p.text() == "{":
			kids = append(kids, p.interpolation(t))
		default:
			p.fail()
		}
	}
	return kids
}

func (p *exprParser) interpolation(t Token) *Expr {
	var kids []*Expr
	p.depth++
	p.inside(func() {
		kids = append(kids, p.list())
		p.accept("=")
		for p.pos < p.end && !p.failed {
			if p.tokens[p.pos].Kind == TokenFText {
				p.pos++
				continue
			}
			if p.text() != "{" || p.depth > maxNesting {
				break
			}
			kids = append(kids, p.interpolation(p.tokens[p.pos]))
		}
	})
	p.depth--
	return p.build(ExprInterp, t.Start, kids...)
}

// bracketed reads (…), […] and {…}: groups, displays and comprehensions.
func (p *exprParser) bracketed(open string) *Expr {
	t := p.tokens[p.pos]
	var n *Expr
	p.inside(func() { n = p.display(open) })
	if n == nil {
		return p.fail()
	}
	n.Start, n.End, n.Op = t.Start, p.lastEnd(), open
	return n
}

func (p *exprParser) display(open string) *Expr {
	at := p.lastEnd()
	kind := map[string]ExprKind{"(": ExprTuple, "[": ExprList, "{": ExprDict}[open]
	if p.pos >= p.end {
		return newNode(kind, at, at)
	}
	first := p.element(open)
	if p.startsFor() {
		return newNode(ExprComp, at, at, p.clauses(first)...)
	}
	if open == "(" && p.text() != "," {
		return newNode(ExprParen, at, at, first)
	}
	kids := []*Expr{first}
	for p.accept(",") && p.pos < p.end && !p.failed {
		kids = append(kids, p.element(open))
	}
	if open == "{" && !first.is(ExprPair) && first.Op != "**" {
		kind = ExprSet
	}
	return newNode(kind, at, at, kids...)
}

// element reads one element of a display; in braces it may be key: value.
func (p *exprParser) element(open string) *Expr {
	key := p.item()
	if open == "{" && p.accept(":") {
		return p.build(ExprPair, key.Start, key, p.expr())
	}
	return key
}
