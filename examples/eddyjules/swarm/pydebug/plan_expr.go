package pydebug

import (
	"fmt"
	"strings"
)

// andFix inserts the safe condition and an `and` in front of the operand of an if
// or while condition that fails.
func (s *script) andFix(h *hazard) *fix {
	n := h.node
	if n == nil || !s.isConditionOf(n, h.stmt) {
		return nil
	}
	for n.parent != nil && n.parent.kind != nodeBool && n.parent.kind != nodeCompIf {
		switch n.parent.kind {
		case nodeLambda, nodeTernary, nodeComp, nodeCompIn, nodeInterp:
			return nil
		}
		if n.parent.is(nodeNot) && n.parent.parent.is(nodeBool) {
			n = n.parent
			break
		}
		n = n.parent
	}
	return &fix{
		shape:      h.shape,
		edits:      []edit{{n.start, n.start, h.safe + " and "}},
		change:     fmt.Sprintf("The condition now asks for `%s` first.", h.safe),
		effect:     "Where that isn't so, the condition is false, as for any other case that doesn't match; otherwise it is what it was.",
		confidence: 0.85,
	}
}

// isConditionOf reports whether n is part of the condition of the if, elif or
// while st.
func (s *script) isConditionOf(n *node, st *stmt) bool {
	switch st.keyword {
	case "if", "elif", "while":
		return st.value != nil && n.within(st.value)
	}
	return false
}

// conditionalFix writes `expression if safe else filler`.
func (s *script) conditionalFix(h *hazard) *fix {
	if h.node == nil {
		return nil
	}
	slot := s.slot(h)
	if f := s.comparisonFix(h, slot); f != nil {
		return f
	}
	filler := s.slotFiller(h, slot)
	if filler == "" || isStored(h.node, h.stmt) {
		return nil
	}
	edits := []edit{{slot.end, slot.end, " if " + h.safe + " else " + filler}}
	if !standsAlone(slot, h.stmt) {
		edits = []edit{{slot.start, slot.start, "("}, {slot.end, slot.end, edits[0].text + ")"}}
	}
	return &fix{
		shape:      h.shape,
		edits:      edits,
		change:     fmt.Sprintf("The value is now `%s` when %s.", filler, h.cause),
		effect:     "In every other case the expression gives what it gave before.",
		confidence: 0.85,
	}
}

// comparisonFix writes `safe and comparison` for a comparison whose result is used
// as a value, so that it is false where it can't be evaluated.
func (s *script) comparisonFix(h *hazard, slot *node) *fix {
	if !slot.parent.is(nodeCompare) || slot.parent.op == "!=" || strings.HasPrefix(slot.parent.op, "not") || slot.parent.op == "is not" {
		return nil
	}
	top := slot.parent
	for top.parent.is(nodeCompare) {
		top = top.parent
	}
	if !standsAlone(top, h.stmt) {
		return nil
	}
	return &fix{
		shape:      h.shape,
		edits:      []edit{{top.start, top.start, h.safe + " and "}},
		change:     fmt.Sprintf("The comparison now asks for `%s` first.", h.safe),
		effect:     "Where that isn't so, the answer is no; otherwise it is what it was.",
		confidence: 0.82,
	}
}

// slot returns the expression around the failing operation that becomes
// conditional: the whole product for a division, or the value with its calls,
// attributes and conversions.
func (s *script) slot(h *hazard) *node {
	n := h.node
	for p := n.parent; p != nil; n, p = p, p.parent {
		switch {
		case p.kind == nodeBinary && (p.op == "*" || p.op == "/" || p.op == "//" || p.op == "%") && !isFormat(p):
		case p.kind == nodeUnary, p.kind == nodeAttr && h.kind != zeroError, p.kind == nodeSubscript && n == p.kids[0]:
		case p.kind == nodeCall && n == p.kids[0]:
		case p.kind == nodeCall && h.kind != zeroError && (isCallTo(p, "int") || isCallTo(p, "float")):
		case p.kind == nodeParen && h.kind == zeroError && p.kids[0] == n && s.isFactor(p):
		default:
			return n
		}
	}
	return n
}

// isFactor reports whether the parenthesised expression p is an operand of * or /.
func (s *script) isFactor(p *node) bool {
	return p.parent.is(nodeBinary) && (p.parent.op == "*" || p.parent.op == "/")
}

// isFormat reports whether n formats a string: "…" % value.
func isFormat(n *node) bool {
	left := n.kids[0].unparen()
	return n.op == "%" && (left.is(nodeString) || left.is(nodeFString))
}

// standsAlone reports whether a conditional expression needs no parentheses if it
// replaces n.
func standsAlone(n *node, st *stmt) bool {
	p := n.parent
	if p == nil {
		return st.keyword == "" || st.keyword == "return"
	}
	switch p.kind {
	case nodeParen, nodeList, nodeTuple, nodeSet, nodeKeyword, nodeInterp, nodeLambda:
		return p.kind != nodeLambda || n == p.kids[len(p.kids)-1]
	case nodePair:
		return n == p.kids[1]
	case nodeCall:
		return n != p.kids[0]
	case nodeSubscript:
		return n == p.kids[1]
	case nodeComp:
		return n == p.kids[0]
	}
	return false
}

// comprehensionFix filters out the elements that can't be computed. A division
// gets a filler instead, so that the number of results stays the same.
func (s *script) comprehensionFix(h *hazard, comp *node) *fix {
	if h.kind == zeroError {
		if f := s.conditionalFix(h); f != nil {
			return f
		}
	}
	clause := h.node.childOf(comp)
	f := &fix{
		shape:      h.shape,
		change:     fmt.Sprintf("The comprehension now takes only what satisfies `%s`.", h.safe),
		effect:     fmt.Sprintf("What it leaves out is where %s; the result for everything else is unchanged.", h.cause),
		confidence: 0.85,
	}
	switch clause.kind {
	case nodeCompIf:
		f.edits = s.conjoin(clause.kids[0], h.safe, true)
	case nodeCompIn:
		f.edits = []edit{{clause.start, clause.start, "if " + h.safe + " "}}
	default:
		f.edits = s.filterAtEnd(comp, h.safe)
	}
	return f
}

// filterAtEnd adds a condition at the end of comp.
func (s *script) filterAtEnd(comp *node, safe string) []edit {
	last := comp.kids[len(comp.kids)-1]
	if last.kind == nodeCompIf {
		return s.conjoin(last.kids[0], safe, false)
	}
	return []edit{{last.end, last.end, " if " + safe}}
}

// conjoin writes `safe and cond` if first, else `cond and safe`.
func (s *script) conjoin(cond *node, safe string, first bool) []edit {
	open, closing := "", ""
	if cond.kind == nodeBool && cond.op == "or" || cond.kind == nodeTernary || cond.kind == nodeLambda {
		open, closing = "(", ")"
	}
	if first {
		return []edit{{cond.start, cond.start, safe + " and " + open}, {cond.end, cond.end, closing}}
	}
	return []edit{{cond.start, cond.start, open}, {cond.end, cond.end, closing + " and " + safe}}
}
