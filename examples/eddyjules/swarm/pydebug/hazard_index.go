package pydebug

import "fmt"

func (s *script) indexHazard(c candidate) (*hazard, string) {
	base, length, index := s.demand(c)
	length = max(length, s.popsInARow(c))
	if base != nil && (!repeatable(base) || costly(base)) && index == nil && c.node.is(nodeSubscript) {
		if h := s.hoistedIndex(c, base, length); h != nil {
			return h, ""
		}
	}
	if (base.is(nodeList) || base.is(nodeTuple)) && len(base.kids) == 0 {
		return nil, "the sequence is written as an empty one"
	}
	if base == nil || !repeatable(base) {
		return nil, "the sequence is made anew by each evaluation, so that its length can't be tested in front of it"
	}
	h := &hazard{candidate: c, kind: indexError, shape: s.baseShape(base, c)}
	h.record = index == nil && s.isRecord(base, c)
	name := s.grouped(base)
	switch {
	case index != nil:
		return s.computedHazard(h, base, index)
	case length == 1:
		h.safe, h.unsafe = s.nonEmpty(base), s.isEmpty(base)
		h.cause = fmt.Sprintf("`%s` is empty", name)
		if h.shape == "index-out-of-range" && !h.record {
			h.shape = s.emptyShape(c)
		}
	case length > 1:
		h.safe, h.unsafe = fmt.Sprintf("len(%s) >= %d", s.text(base), length), fmt.Sprintf("len(%s) < %d", s.text(base), length)
		h.cause = fmt.Sprintf("`%s` has fewer than %d elements", name, length)
		switch {
		case h.shape == "index-out-of-range" && isMethod(c.node, "pop"):
			h.shape = s.emptyShape(c)
		case h.shape == "index-out-of-range" && s.isNegative(c):
			h.shape = "negative-index"
		}
	}
	if h.record && h.shape == "index-out-of-range" {
		h.shape = "fixed-field-of-record"
	}
	return h, ""
}

// hoistedIndex returns the hazard of a literal index into the result of a call,
// which is assigned to a variable first. It returns nil if that isn't possible.
func (s *script) hoistedIndex(c candidate, base *node, length int) *hazard {
	v := s.hoist(base, c, "found")
	if v == nil {
		return nil
	}
	h := &hazard{candidate: c, kind: indexError, shape: s.baseShape(base, c), prelude: v.edits}
	if h.shape == "index-out-of-range" && length == 1 {
		h.shape = s.emptyShape(c)
	}
	h.record = s.isSplit(base, c.stmt)
	h.safe, h.unsafe = fmt.Sprintf("len(%s) >= %d", v.name, length), fmt.Sprintf("len(%s) < %d", v.name, length)
	h.cause = fmt.Sprintf("`%s` gives fewer than %d elements", s.text(base), length)
	if length == 1 && !s.usesArrays() {
		h.safe, h.unsafe = v.name, "not "+v.name
		h.cause = fmt.Sprintf("`%s` gives nothing", s.text(base))
	}
	return h
}

// isRecord reports whether base is a record: the result of a split, or a variable
// that the loop around c assigns.
func (s *script) isRecord(base *node, c candidate) bool {
	if s.isSplit(base, c.stmt) {
		return true
	}
	if !base.is(nodeName) {
		return false
	}
	loop := c.stmt.loop()
	return loop != nil && loop.bindsDeep(base.op)
}

// popsInARow returns the number of elements that c and the statements directly
// after it pop; zero if c is no pop.
func (s *script) popsInARow(c candidate) int {
	if !isMethod(c.node, "pop") || len(c.node.kids) > 1 {
		return 0
	}
	base, n := s.text(c.node.kids[0].kids[0]), 0
	count := func(m *node) bool {
		if isMethod(m, "pop") && s.text(m.kids[0].kids[0]) == base {
			n++
		}
		return false
	}
	c.stmt.has(count)
	for _, next := range c.stmt.after() {
		before := n
		if next.keyword != "" || next.has(count) || n == before {
			break
		}
	}
	return n
}

func (s *script) isNegative(c candidate) bool {
	if !c.node.is(nodeSubscript) {
		return false
	}
	k, ok := s.integer(c.node.kids[1])
	return ok && k < 0
}

func (s *script) emptyShape(c candidate) string {
	switch {
	case isMethod(c.node, "pop"), isMethod(c.node, "popleft"):
		return "pop-from-empty"
	case c.node.is(nodeCall):
		return "choice-from-empty"
	case s.isNegative(c):
		return "last-of-empty"
	}
	return "first-of-empty"
}

// computedHazard completes h for an index that isn't a literal.
func (s *script) computedHazard(h *hazard, base, index *node) (*hazard, string) {
	if !repeatable(index) {
		return nil, "the index is computed anew by each evaluation, so that it can't be tested in front of it"
	}
	i, length := s.operand(index), "len("+s.text(base)+")"
	if s.neverNegative(index, h.stmt) {
		h.safe, h.unsafe = i+" < "+length, i+" >= "+length
	} else {
		h.safe, h.unsafe = "-"+length+" <= "+i+" < "+length, "not -"+length+" <= "+i+" < "+length
	}
	h.cause = fmt.Sprintf("`%s` points past the end of `%s`", s.text(index), s.text(base))
	s.withRow(h, base)
	if h.shape == "index-out-of-range" {
		h.shape = "computed-index"
	}
	return h, ""
}

// withRow extends the conditions of h by those of the row that it reads from, if
// the row's index is a sum, as in grid[y + dy][x + dx]: the neighbour of a cell may
// be outside of the grid in both directions.
func (s *script) withRow(h *hazard, base *node) {
	if !base.is(nodeSubscript) || !base.kids[1].is(nodeBinary) {
		return
	}
	row := candidate{base, h.stmt}
	if s.guarded(row, indexError) || s.cannotFail(row, indexError) {
		return
	}
	if r, _ := s.indexHazard(row); r != nil && r.prelude == nil {
		h.safe, h.unsafe = r.safe+" and "+h.safe, r.unsafe+" or "+h.unsafe
	}
}

// neverNegative reports whether index is a variable that starts at zero or more and
// only increases, or such a length or number.
func (s *script) neverNegative(index *node, use *stmt) bool {
	l := s.linear(index)
	if l.offset < 0 || l.node == nil {
		return l.offset >= 0
	}
	if isCallTo(l.node, "len") {
		return true
	}
	if !l.node.is(nodeName) {
		return false
	}
	if s.boundInExpression(l, index) != nil {
		return true
	}
	for _, b := range s.bindings[l.node.op] {
		if b.function() == use.function() && !s.countsUp(b) {
			return false
		}
	}
	return len(s.bindings[l.node.op]) > 0
}

// stepsUp reports whether a range counts upwards.
func (s *script) stepsUp(call *node) bool {
	if len(call.kids) < 4 {
		return true
	}
	step, ok := s.integer(call.kids[3])
	return ok && step > 0
}

// countsUp reports whether b leaves its variable at zero or more.
func (s *script) countsUp(b *stmt) bool {
	switch {
	case b.keyword == "for":
		return isCallTo(b.value, "enumerate") || isCallTo(b.value, "range") && s.stepsUp(b.value)
	case b.op == "=" && b.value != nil:
		k, ok := s.integer(b.value)
		return ok && k >= 0
	}
	return b.op == "+="
}

// baseShape returns the shape of the mistake by the origin of the sequence.
func (s *script) baseShape(base *node, c candidate) string {
	value := s.resolve(base, c.stmt)
	switch {
	case s.text(base) == "sys.argv" || s.text(base) == "argv":
		return "missing-argument"
	case isMethod(value, "split"), isMethod(value, "rsplit"), isMethod(value, "splitlines"):
		return "fixed-field-after-split"
	case base.is(nodeSubscript) && !s.isSplit(base.kids[0], c.stmt):
		return "nested-subscript"
	case value.is(nodeTuple):
		return "tuple-index"
	case value.is(nodeString):
		return "string-index"
	}
	return "index-out-of-range"
}

func (s *script) isSplit(n *node, use *stmt) bool {
	value := s.resolve(n, use)
	return isMethod(value, "split") || isMethod(value, "rsplit")
}
