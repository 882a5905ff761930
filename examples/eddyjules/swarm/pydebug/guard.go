package pydebug

import "strings"

// maxGuards bounds the conditions that are examined for one operation.
const maxGuards = 2000

// facts calls yield with every condition whose truth value is known when c is
// evaluated, until yield returns true. It reports whether yield did.
func (s *script) facts(c candidate, yield func(cond *node, truth bool) bool) bool {
	for n := c.node; n != nil && n.parent != nil; n = n.parent {
		if s.factsOfParent(n, yield) {
			return true
		}
	}
	return s.factsOfBlocks(c.stmt, yield)
}

// factsOfParent yields the conditions of n's parent that hold when n is evaluated.
func (s *script) factsOfParent(n *node, yield func(*node, bool) bool) bool {
	p := n.parent
	switch {
	case p.kind == nodeTernary && n == p.kids[0]:
		return yield(p.kids[1], true)
	case p.kind == nodeTernary && n == p.kids[2]:
		return yield(p.kids[1], false)
	case p.kind == nodeBool && n == p.kids[1]:
		return yield(p.kids[0], p.op == "and")
	case p.kind == nodeComp:
		for _, kid := range p.kids[1:] {
			if kid.kind == nodeCompIf && kid != n && (n == p.kids[0] || kid.start < n.start) && yield(kid.kids[0], true) {
				return true
			}
		}
	}
	return false
}

// factsOfBlocks yields the conditions of the statements around and before st. In
// chain, st follows from the elif and else branches that it belongs to.
func (s *script) factsOfBlocks(st *stmt, yield func(*node, bool) bool) bool {
	steps := 0
	for ; st != nil; st = st.parent {
		chain := st.keyword == "elif" || st.keyword == "else"
		for p := st.previous(); p != nil && steps < maxGuards; p = p.previous() {
			steps++
			if p.value == nil {
				chain = false
				continue
			}
			branch := p.keyword == "if" || p.keyword == "elif"
			leaves := p.keyword == "if" && exits(p)
			if branch && (chain || leaves) && yield(p.value, false) || p.keyword == "assert" && yield(p.value, true) {
				return true
			}
			chain = chain && p.keyword == "elif"
		}
		if h := st.parent; h != nil {
			if (h.keyword == "if" || h.keyword == "elif" || h.keyword == "while") && h.value != nil && yield(h.value, true) {
				return true
			}
			if h.keyword == "def" || h.keyword == "class" {
				return false
			}
		}
	}
	return false
}

// exits reports whether the body of s ends with a statement that leaves its block.
func exits(s *stmt) bool {
	if len(s.body) == 0 {
		return false
	}
	last := s.body[len(s.body)-1]
	switch last.keyword {
	case "return", "continue", "break", "raise":
		return true
	}
	return last.value != nil && isCallTo(last.value, "exit")
}

// splitFact calls yield with the parts of a condition whose truth values follow
// from that of the whole, until yield returns true. For `a and b` being true these
// are a and b.
func splitFact(cond *node, truth bool, yield func(*node, bool) bool) bool {
	cond = cond.unparen()
	switch {
	case cond.kind == nodeNot:
		return splitFact(cond.kids[0], !truth, yield)
	case truth && cond.kind == nodeCompare && cond.kids[0].kind == nodeCompare:
		link := *cond // a < b < c is a < b and b < c
		link.kids = []*node{cond.kids[0].kids[1], cond.kids[1]}
		link.start = link.kids[0].start
		return yield(&link, true) || splitFact(cond.kids[0], true, yield)
	case cond.kind == nodeBool && (cond.op == "and") == truth:
		return splitFact(cond.kids[0], truth, yield) || splitFact(cond.kids[1], truth, yield)
	}
	return yield(cond, truth)
}

// guarded reports whether a condition around c excludes the error, or a try around
// c handles it.
func (s *script) guarded(c candidate, kind string) bool {
	if caught(c.stmt, kind) {
		return true
	}
	return s.facts(c, func(cond *node, truth bool) bool {
		return splitFact(cond, truth, func(n *node, truth bool) bool {
			return s.implies(n, truth, c, kind)
		})
	})
}

// caught reports whether a try around st handles errors of this kind.
func caught(st *stmt, kind string) bool {
	for ; st.parent != nil && st.parent.keyword != "def"; st = st.parent {
		if st.parent.keyword != "try" {
			continue
		}
		for _, s := range st.parent.after() {
			if s.keyword != "except" {
				break
			}
			named := s.value == nil || s.has(func(n *node) bool { return n.is(nodeName) && catches(n.op, kind) })
			if named && !raises(s) {
				return true
			}
		}
	}
	return false
}

// raises reports whether an except block contains a raise.
func raises(handler *stmt) bool {
	return !handler.walk(func(b *stmt) bool { return b.keyword != "raise" })
}

// catches reports whether `except name` handles errors of this kind.
func catches(name, kind string) bool {
	switch name {
	case kind, "Exception", "BaseException":
		return true
	case "LookupError":
		return kind != zeroError
	case "ArithmeticError":
		return kind == zeroError
	}
	return false
}

// implies reports whether c is safe if the condition n has the value truth.
func (s *script) implies(n *node, truth bool, c candidate, kind string) bool {
	switch kind {
	case indexError:
		return s.impliesIndex(n, truth, c)
	case keyError:
		return s.impliesKey(n, truth, c)
	}
	return s.impliesNonZero(n, truth, c)
}

func (s *script) impliesKey(n *node, truth bool, c candidate) bool {
	base := c.node.kids[0]
	if base.is(nodeAttr) && c.node.is(nodeCall) {
		base = base.kids[0]
	}
	if len(c.node.kids) < 2 {
		return s.knownLength(n, truth, s.text(base)) > 0
	}
	positive := n.op == "in" && truth || n.op == "not in" && !truth
	if !n.is(nodeCompare) || !positive {
		return false
	}
	dict := strings.TrimSuffix(s.text(n.kids[1]), ".keys()")
	return s.same(n.kids[0], c.node.kids[1]) && dict == s.text(base)
}

// same reports whether a and b have the same source, apart from quotes.
func (s *script) same(a, b *node) bool {
	return a.kind == b.kind && unquote(s.text(a)) == unquote(s.text(b))
}

func (s *script) impliesNonZero(n *node, truth bool, c candidate) bool {
	d := divisor(c).unparen()
	if truth && s.isTruthOf(n, d) {
		return true
	}
	if !n.is(nodeCompare) {
		return false
	}
	k, ok := s.integer(n.kids[1])
	sameSide := s.text(n.kids[0]) == s.text(d) || isCallTo(d, "len") && s.isTruthOf(n.kids[0], d)
	if !ok || !sameSide {
		return false
	}
	switch n.op {
	case "!=":
		return truth && k == 0
	case "==":
		return !truth && k == 0
	case ">":
		return truth && k >= 0
	case ">=":
		return truth && k >= 1
	case "<=":
		return !truth && k >= 0
	case "<":
		return !truth && k >= 1
	}
	return false
}

// isTruthOf reports whether n is true exactly if d isn't zero: n is d, or d is
// len(n).
func (s *script) isTruthOf(n, d *node) bool {
	if s.text(n) == s.text(d) {
		return true
	}
	return isCallTo(d, "len") && len(d.kids) == 2 && s.text(n) == s.text(d.kids[1])
}

// divisor returns the divisor of c.
func divisor(c candidate) *node {
	switch {
	case c.node == nil:
		return c.stmt.value
	case c.node.kind == nodeCall:
		return c.node.kids[2]
	}
	return c.node.kids[1]
}

func (s *script) impliesIndex(n *node, truth bool, c candidate) bool {
	base, need, index := s.demand(c)
	if need > 0 {
		return s.knownLength(n, truth, s.text(base)) >= need
	}
	return index != nil && n.is(nodeCompare) && s.impliesBelow(n, truth, base, s.linear(index))
}

// demand returns the sequence that c reads, with the length that it must have, or
// the index that must be less than its length.
func (s *script) demand(c candidate) (base *node, length int, index *node) {
	if c.node.is(nodeCall) {
		if isCallTo(c.node, "choice") && len(c.node.kids) > 1 {
			return c.node.kids[1], 1, nil
		}
		if len(c.node.kids) < 2 {
			return c.node.kids[0].kid(0), 1, nil
		}
		base, index = c.node.kids[0].kid(0), c.node.kids[1]
	} else {
		base, index = c.node.kids[0], c.node.kids[1]
	}
	k, ok := s.integer(index)
	switch {
	case !ok:
		return base, 0, index
	case k < 0:
		return base, -k, nil
	}
	return base, k + 1, nil
}

// knownLength returns the least length that base can have if n has the value truth.
func (s *script) knownLength(n *node, truth bool, base string) int {
	if s.text(n) == base || isCallTo(n, "len") && s.text(n) == "len("+base+")" {
		if truth {
			return 1
		}
		return 0
	}
	if !n.is(nodeCompare) {
		return 0
	}
	op, left, right := n.op, n.kids[0], n.kids[1]
	if s.text(right) == "len("+base+")" {
		op, left, right = mirrored(op), right, left
	}
	k, ok := s.integer(right)
	if !ok || s.text(left) != "len("+base+")" {
		return 0
	}
	return leastLength(op, truth, k)
}

// mirrored returns the comparison that equals op with its operands exchanged.
func mirrored(op string) string {
	switch op[0] {
	case '<':
		return ">" + op[1:]
	case '>':
		return "<" + op[1:]
	}
	return op
}

// leastLength returns the least n for which `n op k` has the value truth.
func leastLength(op string, truth bool, k int) int {
	switch {
	case op == ">" && truth, op == "<=" && !truth:
		return k + 1
	case op == ">=" && truth, op == "<" && !truth, op == "==" && truth, op == "!=" && !truth:
		return k
	case (op == "!=" && truth || op == "==" && !truth) && k == 0:
		return 1
	}
	return 0
}

// impliesBelow reports whether index < len(base) if the comparison n has the value
// truth.
func (s *script) impliesBelow(n *node, truth bool, base *node, index linear) bool {
	op, left, right := n.op, s.linear(n.kids[0]), s.linear(n.kids[1])
	if left.core == "len("+s.text(base)+")" {
		op, left, right = mirrored(op), right, left
	}
	if right.core != "len("+s.text(base)+")" || left.core != index.core {
		return false
	}
	slack := right.offset - left.offset // core < len + slack
	switch {
	case op == "<" && truth, op == ">=" && !truth:
	case op == "<=" && truth, op == ">" && !truth:
		slack++
	default:
		return false
	}
	return slack <= -index.offset
}
