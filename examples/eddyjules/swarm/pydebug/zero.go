package pydebug

import "fmt"

// zeroFix returns a fix for a ZeroDivisionError, or nil and the reason.
func (s *script) zeroFix(h *hazard, at *site) (*fix, string) {
	if h.node == nil {
		return s.orReason(s.divideInPlace(h), "the division shares its line with other statements")
	}
	if s.isConditionOf(h.node, h.stmt) {
		if f := s.andFix(h); f != nil {
			return f, ""
		}
	}
	if inner := enclosing(h.node); inner != nil && s.inCondition(h.node, inner) {
		if f := s.comprehensionGuard(h, inner); f != nil {
			return f, ""
		}
	}
	if !s.indexesItself(h) {
		if f := s.conditionalFix(h); f != nil {
			return f, ""
		}
	}
	return s.guardFix(h, at)
}

// indexesItself reports whether the result is an index into the sequence whose
// length is the divisor, as in x[i % len(x)].
func (s *script) indexesItself(h *hazard) bool {
	of, _, ok := s.length(divisor(h.candidate), h.stmt)
	for n := h.node; ok && n.parent != nil; n = n.parent {
		if n.parent.is(nodeSubscript) && n == n.parent.kids[1] && s.text(n.parent.kids[0]) == s.text(of) {
			return true
		}
	}
	return false
}

// inCondition reports whether n is in an if clause of the comprehension.
func (s *script) inCondition(n, comp *node) bool {
	for ; n != nil && n != comp; n = n.parent {
		if n.kind == nodeCompIf {
			return comp.kind == nodeComp
		}
	}
	return false
}

// comprehensionGuard tests the divisor in front of the failing condition of a
// comprehension.
func (s *script) comprehensionGuard(h *hazard, comp *node) *fix {
	return &fix{
		shape:      h.shape,
		edits:      s.conjoin(h.node.childOf(comp).kids[0], h.safe, true),
		change:     fmt.Sprintf("The comprehension's condition now asks for `%s` first.", h.safe),
		effect:     "Elements for which it can't be computed are left out; the result for the others is unchanged.",
		confidence: 0.85,
	}
}

// divideInPlace guards x /= n, so that x keeps its value if n is zero.
func (s *script) divideInPlace(h *hazard) *fix {
	if !h.stmt.startsLine || !h.stmt.alone {
		return nil
	}
	edits := append([]edit{s.insertBefore(h.stmt, "if "+h.safe+":")}, s.indentLines(h.stmt.line, lastLine(h.stmt))...)
	target := s.text(h.stmt.targets[0])
	return &fix{
		shape:      h.shape,
		edits:      edits,
		change:     fmt.Sprintf("`%s` is now divided only if there is something to divide by.", target),
		effect:     fmt.Sprintf("When %s, `%s` keeps the value that it has; otherwise nothing changes.", h.cause, target),
		confidence: 0.85,
	}
}
