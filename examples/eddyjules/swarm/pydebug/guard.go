package pydebug

import (
	"slices"
	"strings"
)

// maxGuards bounds the statements in front of an operation that are examined.
const maxGuards = 2000

// fact is a condition whose truth value is known when an operation is evaluated.
type fact struct {
	cond  *Expr
	truth bool
}

// guarded reports whether a condition around o excludes the error, or a try around
// o handles it.
func (s *Module) guarded(o operation) bool {
	return caught(o) || slices.ContainsFunc(append(factsAround(o.node), factsBefore(o.stmt)...), func(f fact) bool {
		return s.follows(f, o)
	})
}

// follows reports whether o is safe by the fact, or by a part of its condition whose
// truth value follows from that of the whole: `a and b` being true, a and b are.
func (s *Module) follows(f fact, o operation) bool {
	cond := f.cond.Unparen()
	switch {
	case cond.Kind == ExprNot:
		return s.follows(fact{cond.Kids[0], !f.truth}, o)
	case cond.Kind == ExprBool && (cond.Op == "and") == f.truth:
		return s.follows(fact{cond.Kids[0], f.truth}, o) || s.follows(fact{cond.Kids[1], f.truth}, o)
	}
	return o.kind.implies(s, cond, f.truth, o)
}

// factsAround returns the conditions of the expressions around n.
func factsAround(n *Expr) (facts []fact) {
	for ; n != nil && n.parent != nil; n = n.parent {
		switch p := n.parent; {
		case p.Kind == ExprTernary && n != p.Kids[1]:
			facts = append(facts, fact{p.Kids[1], n == p.Kids[0]})
		case p.Kind == ExprBool && n == p.Kids[1]:
			facts = append(facts, fact{p.Kids[0], p.Op == "and"})
		case p.Kind == ExprComp:
			for _, kid := range p.Kids[1:] {
				if kid.Kind == ExprCompIf && kid != n && (n == p.Kids[0] || kid.Start < n.Start) {
					facts = append(facts, fact{kid.Kids[0], true})
				}
			}
		}
	}
	return facts
}

// factsBefore returns the conditions of the statements around st, and those in front
// of it under which the block was left.
func factsBefore(st *Stmt) (facts []fact) {
	for steps := 0; st != nil; st = st.Parent {
		for p := st.Previous(); p != nil && steps < maxGuards; p = p.Previous() {
			if steps++; p.Keyword == "if" && p.Value != nil && exits(p) {
				facts = append(facts, fact{p.Value, false})
			}
		}
		h := st.Parent
		if h == nil || h.Keyword == "def" || h.Keyword == "class" {
			break
		}
		if (h.Keyword == "if" || h.Keyword == "elif" || h.Keyword == "while") && h.Value != nil {
			facts = append(facts, fact{h.Value, true})
		}
	}
	return facts
}

// exits reports whether the body of s ends with a statement that leaves its block.
func exits(s *Stmt) bool {
	if len(s.Body) == 0 {
		return false
	}
	last := s.Body[len(s.Body)-1]
	return slices.Contains([]string{"return", "continue", "break", "raise"}, last.Keyword) || isCallTo(last.Value, "exit")
}

// caught reports whether a try around o handles its error.
func caught(o operation) bool {
	handles := func(n *Expr) bool {
		return n.is(ExprName) && (n.Op == o.kind.name || n.Op == "Exception" || n.Op == "BaseException" || slices.Contains(o.kind.handlers, n.Op))
	}
	for st := o.stmt; st.Parent != nil && st.Parent.Keyword != "def"; st = st.Parent {
		if st.Parent.Keyword != "try" {
			continue
		}
		for _, s := range st.Parent.After() {
			if s.Keyword != "except" {
				break
			}
			raises := !s.walk(func(b *Stmt) bool { return b.Keyword != "raise" })
			if !raises && (s.Value == nil || s.has(handles)) {
				return true
			}
		}
	}
	return false
}

func (s *Module) impliesKey(n *Expr, truth bool, o operation) bool {
	if o.key == nil {
		return s.knownLength(n, truth, s.text(o.base)) > 0
	}
	if !n.is(ExprCompare) || !(n.Op == "in" && truth || n.Op == "not in" && !truth) {
		return false
	}
	return s.same(n.Kids[0], o.key) && strings.TrimSuffix(s.text(n.Kids[1]), ".keys()") == s.text(o.base)
}

// same reports whether a and b have the same source, apart from quotes.
func (s *Module) same(a, b *Expr) bool {
	return a.Kind == b.Kind && unquote(s.text(a)) == unquote(s.text(b))
}

func (s *Module) impliesNonZero(n *Expr, truth bool, o operation) bool {
	d := o.base.Unparen()
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
	return s.text(n) == s.text(d) || isCallTo(d, "len") && len(d.Kids) == 2 && s.text(n) == s.text(d.Kids[1])
}

func (s *Module) impliesIndex(n *Expr, truth bool, o operation) bool {
	need := s.need(o)
	return need > 0 && s.knownLength(n, truth, s.text(o.base)) >= need
}

// knownLength returns the least length that base can have if n has the value truth.
func (s *Module) knownLength(n *Expr, truth bool, base string) int {
	length := "len(" + base + ")"
	if text := s.text(n); truth && (text == base || text == length) {
		return 1
	}
	if !n.is(ExprCompare) || s.text(n.Kids[0]) != length {
		return 0
	}
	k, ok := s.integer(n.Kids[1])
	op := n.Op
	switch {
	case !ok:
		return 0
	case op == ">" && truth, op == "<=" && !truth:
		return k + 1
	case op == ">=" && truth, op == "<" && !truth, op == "==" && truth, op == "!=" && !truth:
		return k
	case (op == "!=" && truth || op == "==" && !truth) && k == 0:
		return 1
	}
	return 0
}
