package pydebug

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hazard is an operation and the condition under which it is safe.
type hazard struct {
	candidate
	kind         string // the kind of error
	safe, unsafe string // Python conditions, each the negation of the other; empty for a computed index
	cause        string // a clause: "`parts` has fewer than 4 fields"
	record       bool   // a malformed record, which a loop may skip; see extendRecord
}

// operand returns what decides whether the operation fails: the divisor of a
// division, or the operation itself.
func (h *hazard) operand() *Expr {
	if h.kind == zeroError {
		return divisor(h.candidate)
	}
	return h.node
}

// pureMethods lists methods without side effect that return the same value when
// called twice.
var pureMethods = map[string]bool{
	"split": true, "rsplit": true, "splitlines": true, "partition": true, "rpartition": true,
	"strip": true, "lstrip": true, "rstrip": true, "lower": true, "upper": true, "title": true,
	"replace": true, "get": true, "keys": true, "values": true, "items": true, "copy": true,
	"decode": true, "encode": true, "casefold": true, "groups": true, "removeprefix": true,
	"removesuffix": true, "zfill": true, "count": true, "index": true, "find": true,
}

// pureFunctions lists such functions.
var pureFunctions = map[string]bool{
	"len": true, "str": true, "int": true, "float": true, "sum": true, "min": true, "max": true,
	"abs": true, "round": true, "ord": true, "chr": true, "bool": true,
}

// repeatable reports whether a second evaluation of n leaves the script's behaviour
// unchanged.
func repeatable(n *Expr) bool {
	return !n.Has(func(m *Expr) bool {
		switch m.Kind {
		case ExprWalrus, ExprYield, ExprComp, ExprLambda:
			return true
		case ExprUnary:
			return m.Op == "await"
		case ExprCall:
			f := m.Kids[0]
			return !(f.is(ExprAttr) && pureMethods[f.Op] || f.is(ExprName) && pureFunctions[f.Op])
		}
		return false
	})
}

// newHazard returns the hazard of c, and the reason why c can't be guarded; empty
// if it can.
func (s *Module) newHazard(c candidate, kind string) (h *hazard, reason string) {
	h = &hazard{candidate: c, kind: kind}
	switch kind {
	case indexError:
		return h, s.indexHazard(h)
	case keyError:
		return h, s.keyHazard(h)
	}
	return h, s.zeroHazard(h)
}

// indexHazard completes h, or returns the reason why it can't be guarded. A
// computed index has no condition: see rangeFix.
func (s *Module) indexHazard(h *hazard) string {
	base, length, index := s.demand(h.candidate)
	switch {
	case base == nil || !repeatable(base):
		return "the sequence is made anew by each evaluation, so that its length can't be tested in front of it"
	case (base.is(ExprList) || base.is(ExprTuple)) && len(base.Kids) == 0:
		return "the sequence is written as an empty one"
	case isStored(h.node, h.stmt) && h.stmt.Keyword != "del":
		return "it stores at an index that the sequence doesn't have, and where the value belongs can't be told"
	case s.popsAgain(h.candidate, s.text(base)):
		return "several elements are taken out one after the other, and how many there have to be can't be told"
	case index != nil:
		h.cause = fmt.Sprintf("`%s` points past the end of `%s`", s.text(index), s.text(base))
		return ""
	}
	h.safe, h.unsafe = fmt.Sprintf("len(%s) >= %d", s.text(base), length), fmt.Sprintf("len(%s) < %d", s.text(base), length)
	h.cause = fmt.Sprintf("`%s` has fewer than %d elements", s.text(base), length)
	if length == 1 {
		h.safe, h.unsafe = fmt.Sprintf("len(%s) > 0", s.text(base)), fmt.Sprintf("len(%s) == 0", s.text(base))
		h.cause = fmt.Sprintf("`%s` is empty", s.text(base))
	}
	loop := h.stmt.loop()
	h.record = s.isSplit(base, h.stmt) || base.is(ExprName) && loop != nil && loop.bindsDeep(base.Op)
	return ""
}

// popsAgain reports whether c is a pop, and its statement or one after it in the
// block takes another element from the same sequence.
func (s *Module) popsAgain(c candidate, base string) bool {
	again := func(n *Expr) bool {
		return n != c.node && (isMethod(n, "pop") || isMethod(n, "popleft")) && s.text(n.Kids[0].Kids[0]) == base
	}
	return c.node.is(ExprCall) && (c.stmt.hasDeep(again) ||
		slices.ContainsFunc(c.stmt.After(), func(next *Stmt) bool { return next.hasDeep(again) }))
}

// isSplit reports whether n is the result of a split.
func (s *Module) isSplit(n *Expr, use *Stmt) bool {
	value := s.resolve(n, use)
	return isMethod(value, "split") || isMethod(value, "rsplit")
}

// keyHazard completes h, or returns the reason why it can't be guarded.
func (s *Module) keyHazard(h *hazard) string {
	var base, key *Expr
	switch n := h.node; {
	case n.is(ExprSubscript):
		base, key = n.Kids[0], n.Kids[1]
	case len(n.Kids) == 2:
		base, key = n.Kids[0].kid(0), n.Kids[1]
	default:
		base = n.Kids[0].kid(0)
	}
	if base == nil || !repeatable(base) || key != nil && !repeatable(key) {
		return "the mapping or the key is made anew by each evaluation, so that it can't be tested in front of it"
	}
	if key == nil {
		h.safe, h.unsafe = s.grouped(base), "not "+s.grouped(base)
		h.cause = fmt.Sprintf("`%s` is empty", s.text(base))
		return ""
	}
	if h.node.is(ExprSubscript) && h.stmt.Keyword != "del" && s.resolve(base, h.stmt).is(ExprDict) && (key.is(ExprString) || key.is(ExprNumber)) {
		return "the key and the dict are both written in the code, and which of the two is wrong can't be told"
	}
	for _, c := range s.candidates(h.stmt, &traceback{kind: keyError}) {
		if c.node.is(ExprSubscript) && s.same(c.node.Kids[1], key) && s.text(c.node.Kids[0]) != s.text(base) && !s.guarded(c, keyError) {
			return fmt.Sprintf("`%s` may lack the key as well", s.text(c.node.Kids[0]))
		}
	}
	k := s.operand(key)
	h.safe, h.unsafe = k+" in "+s.operand(base), k+" not in "+s.operand(base)
	h.cause = fmt.Sprintf("`%s` has no key `%s`", s.text(base), s.text(key))
	return ""
}

// zeroHazard completes h, or returns the reason why it can't be guarded.
func (s *Module) zeroHazard(h *hazard) string {
	d := divisor(h.candidate).unparen()
	switch {
	case d.is(ExprNumber):
		return "its divisor is written as zero, so that there is nothing that it could be meant to compute"
	case !repeatable(d):
		return "the divisor is computed anew by each evaluation, so that it can't be tested in front of the division"
	}
	h.safe, h.unsafe = s.operand(d), "not "+s.operand(d)
	h.cause = fmt.Sprintf("`%s` is zero", s.text(d))
	return ""
}

// grouped returns the text of n, in parentheses unless n is a primary expression.
func (s *Module) grouped(n *Expr) string {
	switch n.Kind {
	case ExprName, ExprAttr, ExprSubscript, ExprCall, ExprParen, ExprNumber, ExprString, ExprList, ExprDict:
		return s.text(n)
	}
	return "(" + s.text(n) + ")"
}

// operand returns the text of n as an operand of a comparison.
func (s *Module) operand(n *Expr) string {
	if n.is(ExprBinary) || n.is(ExprUnary) {
		return s.text(n)
	}
	return s.grouped(n)
}

// maxInteger bounds the literals, so that sums of them don't overflow.
const maxInteger = 1 << 30

// integer returns the value of a literal int, with or without a sign.
func (s *Module) integer(n *Expr) (int, bool) {
	n = n.unparen()
	if n.is(ExprUnary) && n.Op == "-" {
		k, ok := s.integer(n.Kids[0])
		return -k, ok
	}
	if !n.is(ExprNumber) {
		return 0, false
	}
	k, err := strconv.ParseInt(strings.ReplaceAll(s.text(n), "_", ""), 0, 32)
	if err != nil || k > maxInteger {
		return 0, false
	}
	return int(k), true
}

// rootName returns the variable at the beginning of a chain of subscripts and
// attributes; empty if there is none.
func rootName(n *Expr) string {
	for n.is(ExprSubscript) || n.is(ExprAttr) || n.is(ExprParen) {
		n = n.Kids[0]
	}
	if n.is(ExprName) {
		return n.Op
	}
	return ""
}
