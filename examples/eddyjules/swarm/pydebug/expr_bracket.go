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

func (p *exprParser) subscript(base *node) *node {
	var index *node
	if !p.inside(func() { index = p.index() }) {
		return base
	}
	return p.build(nodeSubscript, base.start, base, index)
}

// index reads the content of a subscript's brackets.
func (p *exprParser) index() *node {
	return p.commaList(p.slice, func() bool { return p.pos < p.end })
}

func (p *exprParser) slice() *node {
	if p.pos >= p.end {
		return p.fail()
	}
	t := p.tokens[p.pos]
	var kids []*node
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
	return p.build(nodeSlice, t.start, kids...)
}

func (p *exprParser) call(function *node) *node {
	kids := []*node{function}
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
	return p.build(nodeCall, function.start, kids...)
}

func (p *exprParser) argument() *node {
	t := p.tokens[p.pos]
	if t.kind == tokenName && p.pos+1 < p.end && p.src[p.tokens[p.pos+1].start:p.tokens[p.pos+1].end] == "=" {
		p.pos += 2
		n := p.build(nodeKeyword, t.start, p.expr())
		n.op = p.src[t.start:t.end]
		return n
	}
	n := p.item()
	if p.startsFor() { // a generator that is the only argument needs no brackets
		return p.build(nodeComp, n.start, p.clauses(n)...)
	}
	return n
}

func (p *exprParser) startsFor() bool {
	return p.text() == "for" || p.text() == "async"
}

// clauses reads the for and if clauses that follow the element of a comprehension.
func (p *exprParser) clauses(element ...*node) []*node {
	kids := element
	for !p.failed {
		at := p.pos
		switch {
		case p.accept("async"):
		case p.accept("for"):
			kids = append(kids, p.compIn(at))
		case p.accept("if"):
			kids = append(kids, p.build(nodeCompIf, p.tokens[at].start, p.condition()))
		default:
			return kids
		}
	}
	return kids
}

// condition reads the condition of a comprehension, which can't be a ternary.
func (p *exprParser) condition() *node {
	if p.text() == "lambda" {
		return p.lambda()
	}
	return p.binary(1)
}

func (p *exprParser) compIn(at int) *node {
	target := p.targets()
	if !p.accept("in") {
		return p.fail()
	}
	iterable := p.binary(1)
	return p.build(nodeCompIn, p.tokens[at].start, target, iterable)
}

// targets reads the variables of a for, up to its in.
func (p *exprParser) targets() *node {
	return p.commaList(p.target, func() bool { return p.text() != "in" })
}

func (p *exprParser) target() *node {
	if p.text() == "*" {
		p.pos++
	}
	return p.trailers(p.atom())
}

// atom reads a name, a literal or something in brackets.
func (p *exprParser) atom() *node {
	if p.pos >= p.end || p.failed {
		return p.fail()
	}
	t := p.tokens[p.pos]
	text := p.text()
	switch t.kind {
	case tokenNumber:
		p.pos++
		return p.build(nodeNumber, t.start)
	case tokenString, tokenFStart:
		return p.strings()
	case tokenName:
		if keywords[text] && text != "None" && text != "True" && text != "False" {
			return p.fail()
		}
		p.pos++
		n := p.build(nodeName, t.start)
		n.op = text
		return n
	}
	if closers[text] != "" {
		return p.bracketed(text)
	}
	if text == "..." {
		p.pos++
		return p.build(nodeNumber, t.start)
	}
	return p.fail()
}

// strings reads one or more adjacent string literals as one.
func (p *exprParser) strings() *node {
	t := p.tokens[p.pos]
	kind := nodeString
	var kids []*node
	for p.pos < p.end && !p.failed {
		switch p.tokens[p.pos].kind {
		case tokenString:
			p.pos++
			continue
		case tokenFStart:
			kind = nodeFString
			p.pos++
			kids = append(kids, p.interpolations()...)
			continue
		}
		break
	}
	return p.build(kind, t.start, kids...)
}

// interpolations reads an f-string from after its start up to and including its end.
func (p *exprParser) interpolations() []*node {
	var kids []*node
	for p.pos < p.end && !p.failed {
		t := p.tokens[p.pos]
		switch {
		case t.kind == tokenFEnd:
			p.pos++
			return kids
		case t.kind == tokenFText:
			p.pos++
		case p.text() == "{":
			kids = append(kids, p.interpolation(t))
		default:
			p.fail()
		}
	}
	return kids
}

func (p *exprParser) interpolation(t token) *node {
	var kids []*node
	p.depth++
	p.inside(func() {
		kids = append(kids, p.list())
		p.accept("=")
		for p.pos < p.end && !p.failed {
			if p.tokens[p.pos].kind == tokenFText {
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
	return p.build(nodeInterp, t.start, kids...)
}

// bracketed reads (…), […] and {…}: groups, displays and comprehensions.
func (p *exprParser) bracketed(open string) *node {
	t := p.tokens[p.pos]
	var n *node
	p.inside(func() { n = p.display(open) })
	if n == nil {
		return p.fail()
	}
	n.start, n.end, n.op = t.start, p.lastEnd(), open
	return n
}

func (p *exprParser) display(open string) *node {
	at := p.lastEnd()
	kind := map[string]nodeKind{"(": nodeTuple, "[": nodeList, "{": nodeDict}[open]
	if p.pos >= p.end {
		return newNode(kind, at, at)
	}
	first := p.element(open)
	if p.startsFor() {
		return newNode(nodeComp, at, at, p.clauses(first)...)
	}
	if open == "(" && p.text() != "," {
		return newNode(nodeParen, at, at, first)
	}
	kids := []*node{first}
	for p.accept(",") && p.pos < p.end && !p.failed {
		kids = append(kids, p.element(open))
	}
	if open == "{" && !first.is(nodePair) && first.op != "**" {
		kind = nodeSet
	}
	return newNode(kind, at, at, kids...)
}

// element reads one element of a display; in braces it may be key: value.
func (p *exprParser) element(open string) *node {
	key := p.item()
	if open == "{" && p.accept(":") {
		return p.build(nodePair, key.start, key, p.expr())
	}
	return key
}
