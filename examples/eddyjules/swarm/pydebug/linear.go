package pydebug

import (
	"strconv"
	"strings"
)

// linear is an expression of the form core + offset, such as i + 1. A literal
// number has no core.
type linear struct {
	core   string // the text of the core, such as "i" or "len(x)"
	node   *node  // the core; nil for a literal number
	offset int
}

// maxInteger bounds the literals and the sums of literals, so that they don't
// overflow.
const maxInteger = 1 << 30

// integer returns the value of a literal int, with or without a sign.
func (s *script) integer(n *node) (int, bool) {
	n = n.unparen()
	if n.is(nodeUnary) && n.op == "-" {
		k, ok := s.integer(n.kids[0])
		return -k, ok
	}
	if !n.is(nodeNumber) {
		return 0, false
	}
	k, err := strconv.ParseInt(strings.ReplaceAll(s.text(n), "_", ""), 0, 32)
	if err != nil || k > maxInteger {
		return 0, false
	}
	return int(k), true
}

// linear splits n into core + offset.
func (s *script) linear(n *node) linear {
	n = n.unparen()
	if k, ok := s.integer(n); ok {
		return linear{offset: k}
	}
	if n.is(nodeBinary) && (n.op == "+" || n.op == "-") {
		if k, ok := s.integer(n.kids[1]); ok {
			l := s.linear(n.kids[0])
			if n.op == "-" {
				k = -k
			}
			l.offset = min(max(l.offset+k, -maxInteger), maxInteger)
			return l
		}
		if k, ok := s.integer(n.kids[0]); ok && n.op == "+" {
			l := s.linear(n.kids[1])
			l.offset = min(max(l.offset+k, -maxInteger), maxInteger)
			return l
		}
	}
	return linear{core: s.text(n), node: n}
}

// length splits n into len(base) + offset, where n may be a variable with that
// value. ok is false if n has another form.
func (s *script) length(n *node, use *stmt) (base *node, offset int, ok bool) {
	l := s.linear(n)
	if l.node == nil {
		return nil, 0, false
	}
	core := l.node
	if core.is(nodeName) {
		if value := s.assignedValue(core.op, use); value != nil {
			inner := s.linear(value)
			core, l.offset = inner.node, l.offset+inner.offset
		}
	}
	if core == nil || !isCallTo(core, "len") || len(core.kids) != 2 {
		return nil, 0, false
	}
	return core.kids[1], l.offset, true
}
