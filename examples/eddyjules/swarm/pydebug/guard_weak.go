package pydebug

import (
	"fmt"
	"strconv"
)

// strongerGuard raises the number in an existing guard that accepts records which
// are too short. It returns nil if there is no such guard.
func (s *script) strongerGuard(h *hazard) *fix {
	wide := s.extendRecord(h)
	base, length, _ := s.demand(wide.candidate)
	if length < 2 || h.node == nil || !h.node.is(nodeSubscript) || s.isNegative(wide.candidate) {
		return nil
	}
	name := s.text(base)
	if p := h.stmt.parent; p != nil && p.keyword == "if" && p.value != nil && !hasElse(p) {
		if f := s.raise(h, p.value, true, name, length); f != nil {
			return f
		}
	}
	for p := h.stmt.previous(); p != nil && !p.binds(rootName(base)); p = p.previous() {
		if p.keyword == "if" && exits(p) && p.value != nil {
			if f := s.raise(h, p.value, false, name, length); f != nil {
				return f
			}
		}
	}
	return nil
}

// hasElse reports whether an elif or else follows s.
func hasElse(s *stmt) bool {
	next := s.after()
	return len(next) > 0 && (next[0].keyword == "elif" || next[0].keyword == "else")
}

// raise changes the number in a condition such as `len(base) < 3`, so that base has
// at least length elements if cond has the value truth.
func (s *script) raise(h *hazard, cond *node, truth bool, base string, length int) *fix {
	cond = cond.unparen()
	least := s.knownLength(cond, truth, base)
	if least == 0 || least >= length || !cond.is(nodeCompare) || !cond.kids[1].is(nodeNumber) || cond.op == "==" || cond.op == "!=" {
		return nil
	}
	k, _ := s.integer(cond.kids[1])
	return &fix{
		shape:      "guard-too-weak",
		edits:      []edit{replace(cond.kids[1], strconv.Itoa(k+length-least))},
		change:     fmt.Sprintf("The check on line %d now asks for the %d elements that are read.", s.lineOf(cond.start), length),
		effect:     "What was long enough is treated as before; what is too short is treated like what the check already caught.",
		confidence: 0.9,
	}
}
