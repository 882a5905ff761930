package pydebug

import (
	"slices"
	"strings"
)

// nextFailure returns the first operation of next, the fixed script, that fails on
// the same data as the one that was fixed.
func (s *session) nextFailure(next *Module) (candidate, bool) {
	h, tb := s.hazard, *s.tb
	if tb.kind == indexError {
		tb.message = "" // it differs between a read and a pop
	}
	text, root := s.script.operandText(h.candidate)
	def := s.script.defIndex(h.stmt.Function())
	for _, st := range next.All {
		if st.Line < h.stmt.Line || root == "" || !strings.Contains(next.Source[st.Start:st.End], root) || next.defIndex(st.Function()) != def {
			continue
		}
		for _, c := range next.candidates(st, &tb) {
			operand, _ := next.operandText(c)
			if (operand == text || s.sameShortage(next, c)) && !next.guarded(c, tb.kind) {
				return c, true
			}
		}
		if st.Line > h.stmt.Line && st.binds(root) {
			break
		}
	}
	return candidate{}, false
}

// sameShortage reports whether c reads a literal index, at least as great as that
// of the failed operation, of the same sequence.
func (s *session) sameShortage(next *Module, c candidate) bool {
	if s.tb.kind != indexError || c.node == nil {
		return false
	}
	base, need, _ := next.demand(c)
	old, length, _ := s.script.demand(s.hazard.candidate)
	return base != nil && length > 0 && need >= length && next.text(base) == s.script.text(old)
}

// operandText returns the source of the element that c reads, or of the divisor of
// c. Operations of equal text fail together. root is the variable that the text
// begins with.
func (s *Module) operandText(c candidate) (text, root string) {
	n := c.node
	if s.isDivision(c) {
		n = divisor(c)
	}
	if n == nil {
		return "", ""
	}
	root = rootName(n)
	if n.is(ExprCall) && n.Kids[0].is(ExprAttr) {
		root = rootName(n.Kids[0].Kids[0])
	}
	if isCallTo(n, "len") && len(n.Kids) == 2 {
		root = rootName(n.Kids[1])
	}
	if n.is(ExprSubscript) && n.Kids[1].is(ExprString) {
		return s.text(n.Kids[0]) + "[" + unquote(s.text(n.Kids[1])) + "]", root
	}
	return s.text(n), root
}

func (s *Module) isDivision(c candidate) bool {
	return c.node == nil || c.node.Kind == ExprBinary || isCallTo(c.node, "divmod")
}

// defIndex returns the position of def among the defs of the source, which edits
// don't change; -1 for the module.
func (s *Module) defIndex(def *Stmt) int {
	n := -1
	for _, st := range s.All[:slices.Index(s.All, def)+1] {
		if st.Keyword == "def" {
			n++
		}
	}
	return n
}
