package pydebug

import (
	"fmt"
	"slices"
	"strings"
)

// hazard is an operation and the condition under which it is safe.
type hazard struct {
	operation
	safe, unsafe string // Python conditions, each the negation of the other; empty for a computed index
	cause        string // a clause: "`parts` has fewer than 4 fields"
	record       bool   // a malformed record, which a loop may skip; see extendRecord
}

// pure has the methods and functions without side effect that return the same value
// when called twice.
var pure = map[ExprKind][]string{
	ExprAttr: strings.Fields(`split rsplit splitlines partition rpartition strip lstrip rstrip lower upper title replace
		get keys values items copy decode encode casefold groups removeprefix removesuffix zfill count index find`),
	ExprName: strings.Fields(`len str int float sum min max abs round ord chr bool`),
}

// isPure reports whether the function of a call is pure.
func isPure(function *Expr) bool { return slices.Contains(pure[function.Kind], function.Op) }

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
			return !isPure(m.Kids[0])
		}
		return false
	})
}

// indexHazard completes h. A computed index has no condition: see rangeFix.
func (s *Module) indexHazard(h *hazard) string {
	base, length := s.text(h.base), s.need(h.operation)
	switch {
	case !repeatable(h.base):
		return "the sequence is made anew by each evaluation, so that its length can't be tested in front of it"
	case (h.base.is(ExprList) || h.base.is(ExprTuple)) && len(h.base.Kids) == 0:
		return "the sequence is written as an empty one"
	case isStored(h.node, h.stmt) && h.stmt.Keyword != "del":
		return "it stores at an index that the sequence doesn't have, and where the value belongs can't be told"
	case s.popsAgain(h.operation, base):
		return "several elements are taken out one after the other, and how many there have to be can't be told"
	case length == 0:
		h.cause = fmt.Sprintf("`%s` points past the end of `%s`", s.text(h.key), base)
		return ""
	case length == 1:
		h.guard(fmt.Sprintf("len(%s) > 0", base), fmt.Sprintf("len(%s) == 0", base), fmt.Sprintf("`%s` is empty", base))
	default:
		h.guard(fmt.Sprintf("len(%s) >= %d", base, length), fmt.Sprintf("len(%s) < %d", base, length),
			fmt.Sprintf("`%s` has fewer than %d elements", base, length))
	}
	loop := h.stmt.loop()
	h.record = s.isSplit(h.base, h.stmt) || h.base.is(ExprName) && loop != nil && loop.bindsDeep(h.base.Op)
	return ""
}

func (h *hazard) guard(safe, unsafe, cause string) { h.safe, h.unsafe, h.cause = safe, unsafe, cause }

// popsAgain reports whether o is a pop, and its statement or one after it in the
// block takes another element from the same sequence.
func (s *Module) popsAgain(o operation, base string) bool {
	again := func(n *Expr) bool {
		return n != o.node && isMethod(n, "pop", "popleft") && s.text(n.Kids[0].Kids[0]) == base
	}
	return o.node.is(ExprCall) && (o.stmt.hasDeep(again) ||
		slices.ContainsFunc(o.stmt.After(), func(next *Stmt) bool { return next.hasDeep(again) }))
}

// isSplit reports whether n is the result of a split.
func (s *Module) isSplit(n *Expr, use *Stmt) bool {
	return isMethod(s.resolve(n, use), "split", "rsplit")
}

func (s *Module) keyHazard(h *hazard) string {
	base, key := h.base, h.key
	if !repeatable(base) || key != nil && !repeatable(key) {
		return "the mapping or the key is made anew by each evaluation, so that it can't be tested in front of it"
	}
	if key == nil {
		h.guard(s.grouped(base), "not "+s.grouped(base), fmt.Sprintf("`%s` is empty", s.text(base)))
		return ""
	}
	if h.node.is(ExprSubscript) && h.stmt.Keyword != "del" && s.resolve(base, h.stmt).is(ExprDict) && (key.is(ExprString) || key.is(ExprNumber)) {
		return "the key and the dict are both written in the code, and which of the two is wrong can't be told"
	}
	for _, o := range s.operations(h.stmt, h.kind, "") {
		if o.node.is(ExprSubscript) && s.same(o.key, key) && s.text(o.base) != s.text(base) && !s.guarded(o) {
			return fmt.Sprintf("`%s` may lack the key as well", s.text(o.base))
		}
	}
	k := s.compared(key)
	h.guard(k+" in "+s.compared(base), k+" not in "+s.compared(base), fmt.Sprintf("`%s` has no key `%s`", s.text(base), s.text(key)))
	return ""
}

func (s *Module) zeroHazard(h *hazard) string {
	d := h.base.Unparen()
	switch {
	case d.is(ExprNumber):
		return "its divisor is written as zero, so that there is nothing that it could be meant to compute"
	case !repeatable(d):
		return "the divisor is computed anew by each evaluation, so that it can't be tested in front of the division"
	}
	h.guard(s.compared(d), "not "+s.compared(d), fmt.Sprintf("`%s` is zero", s.text(d)))
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

// compared returns the text of n as an operand of a comparison.
func (s *Module) compared(n *Expr) string {
	if n.is(ExprBinary) || n.is(ExprUnary) {
		return s.text(n)
	}
	return s.grouped(n)
}
