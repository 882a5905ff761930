package pydebug

import (
	"slices"
	"strings"
)

// nextFailure returns the first operation of next, the fixed script, that fails on
// the same data as the one that was fixed.
func (s *session) nextFailure(next *Module) (operation, bool) {
	h, message := s.hazard, s.tb.message
	if h.kind.name == indexError {
		message = "" // it differs between a read and a pop
	}
	text, root := s.script.subject(h.operation)
	def := s.script.defIndex(h.stmt.Function())
	for _, st := range next.All {
		if st.Line < h.stmt.Line || root == "" || !strings.Contains(next.Source[st.Start:st.End], root) || next.defIndex(st.Function()) != def {
			continue
		}
		for _, o := range next.operations(st, h.kind, message) {
			other, _ := next.subject(o)
			if (other == text || s.sameShortage(next, o)) && !next.guarded(o) {
				return o, true
			}
		}
		if st.Line > h.stmt.Line && st.binds(root) {
			break
		}
	}
	return operation{}, false
}

// sameShortage reports whether o reads a literal index, at least as great as that
// of the failed operation, of the same sequence.
func (s *session) sameShortage(next *Module, o operation) bool {
	length := s.script.need(s.hazard.operation)
	return o.kind.name == indexError && length > 0 && next.need(o) >= length && next.text(o.base) == s.script.text(s.hazard.base)
}

// subject returns the source of the element that o reads, or of its divisor.
// Operations of equal text fail together. root is the variable that the text begins
// with.
func (s *Module) subject(o operation) (text, root string) {
	n, from := o.operand(), o.base
	switch {
	case n == o.base && isCallTo(n, "len") && len(n.Kids) == 2:
		from = n.Kids[1]
	case n == o.base && n.is(ExprCall) && n.Kids[0].is(ExprAttr):
		from = n.Kids[0].Kids[0]
	case n.is(ExprSubscript) && n.Kids[1].is(ExprString):
		return s.text(n.Kids[0]) + "[" + unquote(s.text(n.Kids[1])) + "]", rootName(n)
	}
	return s.text(n), rootName(from)
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
