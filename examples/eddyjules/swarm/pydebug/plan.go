package pydebug

import (
	"fmt"
	"slices"
)

// guardFix inserts the hazard's condition at the place that the control flow
// allows: in a lambda or comprehension, in a condition, or before the statement.
// If there is no such place, it returns nil and the reason.
func (s *script) guardFix(h *hazard, at *site) (*fix, string) {
	if inner := enclosing(h.node); inner != nil {
		if inner.kind == nodeLambda {
			return s.orReason(s.conditionalFix(h), "the lambda has to give a value, and nothing in the code tells which one would be right")
		}
		if s.dependsOn(h, inner) {
			return s.orReason(s.comprehensionFix(h, inner), "the comprehension has no place for a condition")
		}
	}
	switch {
	case h.stmt.keyword == "while", h.stmt.keyword == "elif":
		return s.orReason(s.andFix(h), "the condition can't be extended without changing what it means")
	case s.isConditional(h.node) || !h.stmt.startsLine:
		return s.orReason(s.firstOf(h, s.andFix, s.conditionalFix), "the expression is only evaluated sometimes, and nothing tells which value would be right instead")
	case h.stmt.keyword == "if" && !(h.record && s.inForLoop(h)) && !s.readAgain(h):
		if f := s.andFix(h); f != nil {
			return f, ""
		}
	}
	return s.statementFix(h, at)
}

// statementFix guards a whole statement. The block around it decides how: a loop
// continues, a function returns, the module skips the statement.
func (s *script) statementFix(h *hazard, at *site) (*fix, string) {
	if h.stmt.keyword == "def" || h.stmt.keyword == "class" {
		return nil, "the failing expression is part of a definition"
	}
	if loop := h.stmt.loop(); loop != nil {
		if loop.keyword == "for" {
			return s.continueFix(h), ""
		}
		return s.orReason(s.whileFix(h, loop), "leaving out this turn of the loop could make it run for ever")
	}
	if h.stmt.function() != nil {
		return s.returnFix(h, at)
	}
	return s.orReason(s.firstOf(h, s.wrapFix, s.conditionalFix), "the rest of the script needs a value from here, and nothing in the code tells which one would be right when there is none")
}

// orReason returns f, or the reason if f is nil.
func (s *script) orReason(f *fix, reason string) (*fix, string) {
	if f != nil {
		return f, ""
	}
	return nil, reason
}

// firstOf returns the first fix that one of the plans makes, or nil.
func (s *script) firstOf(h *hazard, plans ...func(*hazard) *fix) *fix {
	for _, plan := range plans {
		if f := plan(h); f != nil {
			return f
		}
	}
	return nil
}

// enclosing returns the innermost lambda or comprehension that evaluates n each
// time it is called or each time it takes an element, or nil.
func enclosing(n *node) *node {
	for ; n != nil && n.parent != nil; n = n.parent {
		p := n.parent
		if p.kind == nodeLambda && n == p.kids[len(p.kids)-1] {
			return p
		}
		if p.kind == nodeComp && !(len(p.kids) > 1 && n == p.kids[1]) {
			return p
		}
	}
	return nil
}

// dependsOn reports whether the hazard's condition uses a variable of comp.
func (s *script) dependsOn(h *hazard, comp *node) bool {
	for _, kid := range comp.kids[1:] {
		if kid.kind != nodeCompIn {
			continue
		}
		for _, name := range targetNames(kid.kids[0]) {
			if h.node.has(func(n *node) bool { return n.is(nodeName) && n.op == name }) {
				return true
			}
		}
	}
	return false
}

// isConditional reports whether a run of the statement of n may not evaluate n.
func (s *script) isConditional(n *node) bool {
	for ; n != nil && n.parent != nil; n = n.parent {
		p := n.parent
		if p.kind == nodeTernary && n != p.kids[1] || p.kind == nodeBool && n == p.kids[1] || p.kind == nodeLambda {
			return true
		}
	}
	return false
}

// readAgain reports whether a later statement of the block reads the same element.
// A guard of the condition alone would only move the error there.
func (s *script) readAgain(h *hazard) bool {
	text := s.text(h.node)
	return slices.ContainsFunc(h.stmt.after(), func(next *stmt) bool {
		return next.hasDeep(func(n *node) bool { return n.kind == h.node.kind && s.text(n) == text })
	})
}

func (s *script) inForLoop(h *hazard) bool {
	loop := h.stmt.loop()
	return loop != nil && loop.keyword == "for"
}

// returnFalseFix returns False for a pop from an empty sequence, in a function
// that returns truth values only. Skipping the pop could make the function
// return True.
func (s *script) returnFalseFix(h *hazard) *fix {
	function := h.stmt.function()
	if h.shape != "pop-from-empty" || function == nil || !s.returnsTruth(function) {
		return nil
	}
	return s.returnEarly(h, fillFalse, nil)
}

// returnsTruth reports whether the function has return statements and each of them
// returns a truth value.
func (s *script) returnsTruth(function *stmt) bool {
	found := false
	return function.walk(func(b *stmt) bool {
		if b.keyword != "return" || b.function() != function {
			return true
		}
		found = true
		return b.value != nil && s.valueKind(b.value, b, 0) == fillFalse
	}) && found
}

// continueFix makes a for loop continue with its next element.
func (s *script) continueFix(h *hazard) *fix {
	if f := s.returnFalseFix(h); f != nil {
		return f
	}
	h = s.extendRecord(h)
	what := "this turn of the loop"
	if h.record {
		what = "the record"
	}
	return &fix{
		shape:      h.shape,
		edits:      []edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\tcontinue")},
		change:     fmt.Sprintf("The loop now skips %s when %s.", what, h.cause),
		effect:     "All other turns do exactly what they did. What is skipped is skipped silently; print or log it there if you want to know about it.",
		confidence: 0.88,
	}
}
