package pydebug

import (
	"fmt"
	"slices"
	"strings"
)

// maxRounds bounds how many later uses of the same element are fixed as well.
const maxRounds = 6

// settle looks in the fixed script for later places that fail for the same
// reason, and fixes them too: a fix that only moves the error isn't one. It
// returns why it couldn't, if it couldn't.
func (s *session) settle(next *script) (*script, string) {
	for range maxRounds {
		c, found := s.leftOver(next)
		if !found {
			return next, ""
		}
		start, end := c.span()
		reason := fmt.Sprintf("line %d reads `%s` as well and would fail next", c.stmt.line, next.src[start:end])
		if next = s.fixed(next, c); next == nil || s.ctx.Err() != nil {
			return nil, reason
		}
	}
	return nil, "the same element is read in too many places"
}

// fixed returns next with a fix for c, or nil.
func (s *session) fixed(next *script, c candidate) *script {
	h, _ := next.newHazard(c, s.tb.kind)
	if h == nil {
		return nil
	}
	f, _ := (&session{script: next, site: s.site}).fixFor(h)
	if f == nil {
		return nil
	}
	return next.changed(append(slices.Clone(h.prelude), f.edits...))
}

// leftOver returns the first operation behind the fixed one that fails for the
// same reason.
func (s *session) leftOver(next *script) (candidate, bool) {
	h := s.hazards[0]
	text, root := s.script.dangerText(h.candidate)
	def := s.script.defIndex(h.stmt.function())
	for _, st := range next.all {
		sameText := next.src[st.start:st.end] == s.in.Code[h.stmt.start:h.stmt.end]
		if st.line < h.stmt.line || root == "" || !sameText && !strings.Contains(next.src[st.start:st.end], root) || next.defIndex(st.function()) != def {
			continue
		}
		if next.reassigned(root, h.stmt.line, st) {
			continue
		}
		for _, c := range next.candidates(st, s.anyMessage()) {
			if s.failsToo(next, c, text) {
				return c, true
			}
		}
	}
	return candidate{}, false
}

// anyMessage is the traceback without what tells a read from a pop: the same
// lack can show in either.
func (s *session) anyMessage() *traceback {
	tb := *s.tb
	if tb.kind == indexError {
		tb.message = ""
	}
	return &tb
}

// failsToo reports whether c, in the fixed source, fails on the same data as
// what was fixed.
func (s *session) failsToo(next *script, c candidate, text string) bool {
	danger, _ := next.dangerText(c)
	if danger != text && !s.sameShortage(next, c) && !s.sameKey(next, c) {
		return false
	}
	if next.cannotFail(c, s.tb.kind) || next.guarded(c, s.tb.kind) {
		return false
	}
	return danger == text || s.tb.kind != indexError || !next.longEnough(c, s.shortage())
}

// sameKey reports whether c looks up the same variable as what failed, in
// another mapping and the same statement: nothing says that it is there.
func (s *session) sameKey(next *script, c candidate) bool {
	h := s.hazards[0]
	return s.tb.kind == keyError && h.node.is(nodeSubscript) && c.node.is(nodeSubscript) &&
		h.node.kids[1].is(nodeName) && c.node.kids[1].is(nodeName) && c.node.kids[1].op == h.node.kids[1].op &&
		strings.HasPrefix(next.src[c.stmt.start:c.stmt.end], s.in.Code[h.stmt.start:h.stmt.end])
}

// sameShortage reports whether c reads by a literal index from the sequence
// that was found too short.
func (s *session) sameShortage(next *script, c candidate) bool {
	if s.shortage() == 0 || c.node == nil {
		return false
	}
	base, need, _ := next.demand(c)
	old, _, _ := s.script.demand(s.hazards[0].candidate)
	return base != nil && need >= s.shortage() && next.text(base) == s.script.text(old)
}

// shortage is the length that the sequence lacked; zero for other errors.
func (s *session) shortage() int {
	c := s.hazards[0].candidate
	if s.tb.kind != indexError || c.node == nil {
		return 0
	}
	_, length, _ := s.script.demand(c)
	return length
}

// longEnough reports whether a condition around c already asks for that length,
// so that the data which failed doesn't get there.
func (s *script) longEnough(c candidate, length int) bool {
	base, _, _ := s.demand(c)
	text := s.text(base)
	return s.facts(c, func(cond *node, truth bool) bool {
		return splitFact(cond, truth, func(n *node, truth bool) bool { return s.knownLength(n, truth, text) >= length })
	})
}

// dangerText is what two operations have in common that fail together: the
// element that is read, or the divisor; root is the variable that it begins at.
func (s *script) dangerText(c candidate) (text, root string) {
	n := c.node
	if s.isDivision(c) {
		n = divisor(c)
	}
	if n == nil {
		return "", ""
	}
	root = rootName(n)
	if n.is(nodeCall) && n.kids[0].is(nodeAttr) {
		root = rootName(n.kids[0].kids[0])
	}
	if isCallTo(n, "len") && len(n.kids) == 2 {
		root = rootName(n.kids[1])
	}
	if n.is(nodeSubscript) && n.kids[1].is(nodeString) {
		return s.text(n.kids[0]) + "[" + unquote(s.text(n.kids[1])) + "]", root
	}
	return s.text(n), root
}

func (s *script) isDivision(c candidate) bool {
	return c.node == nil || c.node.kind == nodeBinary || isCallTo(c.node, "divmod")
}

// defIndex is the number of a def among all of the source; -1 for the module.
func (s *script) defIndex(def *stmt) int {
	if def == nil {
		return -1
	}
	n := 0
	for _, st := range s.all {
		if st == def {
			return n
		}
		if st.keyword == "def" {
			n++
		}
	}
	return -1
}

// growing methods put something into a list, a set or a dict.
var growing = map[string]bool{
	"append": true, "extend": true, "insert": true, "appendleft": true, "add": true, "update": true, "setdefault": true,
}

// reaches reports whether st is only reached through b: b stands in a block
// around it.
func reaches(b, st *stmt) bool {
	for ; st != nil; st = st.parent {
		if st.siblings == b.siblings {
			return true
		}
	}
	return false
}

// reassigned reports whether root gets another value, or something put into
// it, between a line and st.
func (s *script) reassigned(root string, line int, st *stmt) bool {
	for _, b := range s.all {
		if b.line <= line || b.start >= st.start {
			continue
		}
		grows := func(n *node) bool {
			return n.is(nodeCall) && n.kids[0].is(nodeAttr) && growing[n.kids[0].op] && rootName(n.kids[0].kids[0]) == root
		}
		if b.binds(root) || b.has(grows) && reaches(b, st) {
			return true
		}
	}
	return false
}
