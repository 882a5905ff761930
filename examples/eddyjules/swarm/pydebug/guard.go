package pydebug

import "strings"

// maxGuards bounds the conditions that are examined for one operation.
const maxGuards = 2000

// facts calls yield with every condition whose truth value is known when c is
// evaluated, until yield returns true. It reports whether yield did.
func (s *Module) facts(c candidate, yield func(cond *Expr, truth bool) bool) bool {
	for n := c.node; n != nil && n.parent != nil; n = n.parent {
		if s.factsOfParent(n, yield) {
			return true
		}
	}
	return s.factsOfBlocks(c.stmt, yield)
}

// factsOfParent yields the conditions of n's parent that hold when n is evaluated.
func (s *Module) factsOfParent(n *Expr, yield func(*Expr, bool) bool) bool {
	p := n.parent
	switch {
	case p.Kind == ExprTernary && n != p.Kids[1]:
		return yield(p.Kids[1], n == p.Kids[0])
	case p.Kind == ExprBool && n == p.Kids[1]:
		return yield(p.Kids[0], p.Op == "and")
	case p.Kind == ExprComp:
		for _, kid := range p.Kids[1:] {
			if kid.Kind == ExprCompIf && kid != n && (n == p.Kids[0] || kid.Start < n.Start) && yield(kid.Kids[0], true) {
				return true
			}
		}
	}
	return false
}

// factsOfBlocks yields the conditions of the statements around st, and those in
// front of it under which the block was left.
func (s *Module) factsOfBlocks(st *Stmt, yield func(*Expr, bool) bool) bool {
	steps := 0
	for ; st != nil; st = st.Parent {
		for p := st.Previous(); p != nil && steps < maxGuards; p = p.Previous() {
			if steps++; p.Keyword == "if" && p.Value != nil && exits(p) && yield(p.Value, false) {
				return true
			}
		}
		h := st.Parent
		if h == nil || h.Keyword == "def" || h.Keyword == "class" {
			return false
		}
		if (h.Keyword == "if" || h.Keyword == "elif" || h.Keyword == "while") && h.Value != nil && yield(h.Value, true) {
			return true
		}
	}
	return false
}

// exits reports whether the body of s ends with a statement that leaves its block.
func exits(s *Stmt) bool {
	if len(s.Body) == 0 {
		return false
	}
	last := s.Body[len(s.Body)-1]
	switch last.Keyword {
	case "return", "continue", "break", "raise":
		return true
	}
	return last.Value != nil && isCallTo(last.Value, "exit")
}

// splitFact calls yield with the parts of a condition whose truth values follow
// from that of the whole, until yield returns true. For `a and b` being true these
// are a and b.
func splitFact(cond *Expr, truth bool, yield func(*Expr, bool) bool) bool {
	cond = cond.unparen()
	switch {
	case cond.Kind == ExprNot:
		return splitFact(cond.Kids[0], !truth, yield)
	case cond.Kind == ExprBool && (cond.Op == "and") == truth:
		return splitFact(cond.Kids[0], truth, yield) || splitFact(cond.Kids[1], truth, yield)
	}
	return yield(cond, truth)
}

// guarded reports whether a condition around c excludes the error, or a try around
// c handles it.
func (s *Module) guarded(c candidate, kind string) bool {
	if caught(c.stmt, kind) {
		return true
	}
	return s.facts(c, func(cond *Expr, truth bool) bool {
		return splitFact(cond, truth, func(n *Expr, truth bool) bool {
			return s.implies(n, truth, c, kind)
		})
	})
}

// caught reports whether a try around st handles errors of this kind.
func caught(st *Stmt, kind string) bool {
	for ; st.Parent != nil && st.Parent.Keyword != "def"; st = st.Parent {
		if st.Parent.Keyword != "try" {
			continue
		}
		for _, s := range st.Parent.After() {
			if s.Keyword != "except" {
				break
			}
			named := s.Value == nil || s.has(func(n *Expr) bool { return n.is(ExprName) && catches(n.Op, kind) })
			if named && !raises(s) {
				return true
			}
		}
	}
	return false
}

// raises reports whether an except block contains a raise.
func raises(handler *Stmt) bool {
	return !handler.walk(func(b *Stmt) bool { return b.Keyword != "raise" })
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
func (s *Module) implies(n *Expr, truth bool, c candidate, kind string) bool {
	switch kind {
	case indexError:
		return s.impliesIndex(n, truth, c)
	case keyError:
		return s.impliesKey(n, truth, c)
	}
	return s.impliesNonZero(n, truth, c)
}

func (s *Module) impliesKey(n *Expr, truth bool, c candidate) bool {
	base := c.node.Kids[0]
	if base.is(ExprAttr) && c.node.is(ExprCall) {
		base = base.Kids[0]
	}
	if len(c.node.Kids) < 2 {
		return s.knownLength(n, truth, s.text(base)) > 0
	}
	positive := n.Op == "in" && truth || n.Op == "not in" && !truth
	if !n.is(ExprCompare) || !positive {
		return false
	}
	dict := strings.TrimSuffix(s.text(n.Kids[1]), ".keys()")
	return s.same(n.Kids[0], c.node.Kids[1]) && dict == s.text(base)
}

// same reports whether a and b have the same source, apart from quotes.
func (s *Module) same(a, b *Expr) bool {
	return a.Kind == b.Kind && unquote(s.text(a)) == unquote(s.text(b))
}

func (s *Module) impliesNonZero(n *Expr, truth bool, c candidate) bool {
	d := divisor(c).unparen()
	if s.isTruthOf(n, d) {
		return truth
	}
	if !n.is(ExprCompare) || !s.isTruthOf(n.Kids[0], d) {
		return false
	}
	k, ok := s.integer(n.Kids[1])
	return ok && k == 0 && (truth && (n.Op == "!=" || n.Op == ">") || !truth && (n.Op == "==" || n.Op == "<="))
}

// isTruthOf reports whether n is true exactly if d isn't zero: n is d, or d is
// len(n).
func (s *Module) isTruthOf(n, d *Expr) bool {
	if s.text(n) == s.text(d) {
		return true
	}
	return isCallTo(d, "len") && len(d.Kids) == 2 && s.text(n) == s.text(d.Kids[1])
}

// divisor returns the divisor of c.
func divisor(c candidate) *Expr {
	switch {
	case c.node == nil:
		return c.stmt.Value
	case c.node.Kind == ExprCall:
		return c.node.Kids[2]
	}
	return c.node.Kids[1]
}

func (s *Module) impliesIndex(n *Expr, truth bool, c candidate) bool {
	base, need, _ := s.demand(c)
	return need > 0 && s.knownLength(n, truth, s.text(base)) >= need
}

// demand returns the sequence that c reads, with the length that it must have, or
// the index that must be less than its length.
func (s *Module) demand(c candidate) (base *Expr, length int, index *Expr) {
	if c.node.is(ExprCall) {
		if isCallTo(c.node, "choice") && len(c.node.Kids) > 1 {
			return c.node.Kids[1], 1, nil
		}
		if len(c.node.Kids) < 2 {
			return c.node.Kids[0].kid(0), 1, nil
		}
		base, index = c.node.Kids[0].kid(0), c.node.Kids[1]
	} else {
		base, index = c.node.Kids[0], c.node.Kids[1]
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
func (s *Module) knownLength(n *Expr, truth bool, base string) int {
	if s.text(n) == base || isCallTo(n, "len") && s.text(n) == "len("+base+")" {
		if truth {
			return 1
		}
		return 0
	}
	if !n.is(ExprCompare) {
		return 0
	}
	k, ok := s.integer(n.Kids[1])
	if !ok || s.text(n.Kids[0]) != "len("+base+")" {
		return 0
	}
	return leastLength(n.Op, truth, k)
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
