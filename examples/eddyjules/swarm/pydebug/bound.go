package pydebug

import "fmt"

// bound is the upper bound of an index variable: the stop of a range, the condition
// of a while or the sequence of an enumerate.
type bound struct {
	loop  *stmt // the for or the while; nil in a comprehension
	call  *node // range(…) or enumerate(…); nil for a while
	start *node // the start of the range, if given
	limit *node // the expression that limits the variable
	op    string
	opAt  int
	base  *node // x, if the limit is len(x) plus a constant; else nil
	last  int   // the greatest index is len(base) + last, if base isn't nil
	name  string
	shift int // the index is name + shift
}

// boundOf returns the bound of index, which st reads; nil if there is none of a
// known form.
func (s *script) boundOf(index *node, st *stmt) *bound {
	l := s.linear(index)
	if l.node == nil || !l.node.is(nodeName) {
		return nil
	}
	b := s.boundInExpression(l, index)
	for p := st; b == nil && p != nil && p.keyword != "def"; p = p.parent {
		if p == st && p.keyword != "while" {
			continue
		}
		b = s.boundInLoop(l, p)
	}
	if b == nil || b.limit == nil {
		return nil
	}
	b.name, b.shift = l.core, l.offset
	b.last += l.offset
	return b
}

// boundInExpression returns the bound that a comprehension around index gives its
// variable, or nil.
func (s *script) boundInExpression(l linear, index *node) *bound {
	for n := index; n != nil; n = n.parent {
		if n.kind != nodeComp {
			continue
		}
		for _, kid := range n.kids[1:] {
			if kid.kind == nodeCompIn && kid.kids[0].is(nodeName) && kid.kids[0].op == l.core {
				return s.rangeBound(kid.kids[1], nil)
			}
		}
	}
	return nil
}

func (s *script) boundInLoop(l linear, p *stmt) *bound {
	if p.keyword == "while" && p.value != nil {
		return s.whileBound(l, p)
	}
	if p.keyword != "for" || len(p.targets) == 0 || p.value == nil {
		return nil
	}
	target := p.targets[0]
	if target.is(nodeTuple) && isCallTo(p.value, "enumerate") && len(p.value.kids) == 2 && target.kids[0].op == l.core {
		return &bound{loop: p, call: p.value, limit: p.value.kids[1], base: p.value.kids[1], last: -1}
	}
	if !target.is(nodeName) || target.op != l.core {
		return nil
	}
	return s.rangeBound(p.value, p)
}

// rangeBound reads range(stop) and range(start, stop).
func (s *script) rangeBound(call *node, loop *stmt) *bound {
	if !isCallTo(call, "range") || len(call.kids) < 2 || len(call.kids) > 3 {
		return nil
	}
	b := &bound{loop: loop, call: call, limit: call.kids[len(call.kids)-1]}
	if len(call.kids) == 3 {
		b.start = call.kids[1]
	}
	b.setBase(s, loop, -1)
	return b
}

func (b *bound) setBase(s *script, use *stmt, last int) {
	if use == nil && len(s.all) > 0 {
		use = s.all[len(s.all)-1]
	}
	if base, offset, ok := s.length(b.limit, use); ok {
		b.base, b.last = base, offset+last
	}
}

// whileBound reads a comparison i < limit or i <= limit in the condition.
func (s *script) whileBound(l linear, loop *stmt) *bound {
	var found *bound
	splitFact(loop.value, true, func(n *node, _ bool) bool {
		if !n.is(nodeCompare) || n.op != "<" && n.op != "<=" {
			return false
		}
		left := s.linear(n.kids[0])
		if left.core != l.core {
			return false
		}
		found = &bound{loop: loop, limit: n.kids[1], op: n.op, opAt: n.opAt}
		last := -1 - left.offset
		if n.op == "<=" {
			last++
		}
		found.setBase(s, loop, last)
		return true
	})
	return found
}

// lower returns the edit that lowers the limit by excess.
func (s *script) lower(b *bound, excess int) edit {
	if b.op == "<=" && excess == 1 {
		return edit{b.opAt, b.opAt + len(b.op), "<"}
	}
	if b.call != nil && isCallTo(b.call, "enumerate") {
		return replace(b.limit, fmt.Sprintf("%s[:-%d]", s.grouped(b.limit), excess))
	}
	l := s.linear(b.limit)
	return replace(b.limit, plus(l.core, l.offset-excess))
}

// plus writes core + k, core - k or core, depending on the sign of k.
func plus(core string, k int) string {
	switch {
	case k > 0:
		return fmt.Sprintf("%s + %d", core, k)
	case k < 0:
		return fmt.Sprintf("%s - %d", core, -k)
	}
	return core
}

// shrinksInLoop reports whether the loop that counts the index of c removes
// elements from the list that it indexes.
func (s *script) shrinksInLoop(c candidate) bool {
	if !c.node.is(nodeSubscript) && !isMethod(c.node, "pop") {
		return false
	}
	base, _, index := s.demand(c)
	if index == nil {
		return false
	}
	b := s.boundOf(index, c.stmt)
	return b != nil && b.loop != nil && b.loop.keyword == "for" && b.base != nil && s.text(b.base) == s.text(base) && s.removesFrom(b.loop, s.text(base))
}

// removesFrom reports whether the body of loop removes elements of base.
func (s *script) removesFrom(loop *stmt, base string) bool {
	return !loop.walk(func(b *stmt) bool {
		if b == loop {
			return true
		}
		if b.keyword == "del" && len(b.targets) == 1 && b.targets[0].is(nodeSubscript) && s.text(b.targets[0].kids[0]) == base {
			return false
		}
		return !b.has(func(n *node) bool {
			return (isMethod(n, "pop") || isMethod(n, "remove")) && s.text(n.kids[0].kids[0]) == base
		})
	})
}
