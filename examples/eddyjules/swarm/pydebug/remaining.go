package pydebug

import (
	"fmt"
	"slices"
	"strings"
)

// maxRounds bounds the later operations that are fixed along with the failing one.
const maxRounds = 6

// fixRemaining fixes the later operations of next that fail for the same reason
// as the one already fixed. Otherwise the fix would only move the error. If it
// can't, it returns a nil script and the reason.
func (s *session) fixRemaining(next *script) (*script, string) {
	for range maxRounds {
		c, found := s.nextFailure(next)
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

// nextFailure returns the first operation of next, from the fixed line on, that
// fails for the same reason as the fixed one.
func (s *session) nextFailure(next *script) (candidate, bool) {
	h := s.hazards[0]
	text, root := s.script.operandText(h.candidate)
	def := s.script.defIndex(h.stmt.function())
	for _, st := range next.all {
		sameText := next.src[st.start:st.end] == s.in.Code[h.stmt.start:h.stmt.end]
		if st.line < h.stmt.line || root == "" || !sameText && !strings.Contains(next.src[st.start:st.end], root) || next.defIndex(st.function()) != def {
			continue
		}
		if next.reassigned(root, h.stmt.line, st) {
			continue
		}
		for _, c := range next.candidates(st, s.withoutMessage()) {
			if s.failsToo(next, c, text) {
				return c, true
			}
		}
	}
	return candidate{}, false
}

// withoutMessage returns the traceback without the message of an IndexError. The
// message differs between a read and a pop, and a sequence that is too short
// fails in both.
func (s *session) withoutMessage() *traceback {
	tb := *s.tb
	if tb.kind == indexError {
		tb.message = ""
	}
	return &tb
}

// failsToo reports whether c, in the fixed source, fails on the same data as the
// operation that was fixed, whose operandText is text.
func (s *session) failsToo(next *script, c candidate, text string) bool {
	operand, _ := next.operandText(c)
	if operand != text && !s.sameShortage(next, c) && !s.sameKey(next, c) {
		return false
	}
	if next.cannotFail(c, s.tb.kind) || next.guarded(c, s.tb.kind) {
		return false
	}
	return operand == text || s.tb.kind != indexError || !next.longEnough(c, s.shortage())
}

// sameKey reports whether c, in the same statement, looks up the key variable of
// the failed operation in another mapping, which may lack the key too.
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

// shortage returns the length that the failed operation needs of its sequence;
// zero for errors other than IndexError.
func (s *session) shortage() int {
	c := s.hazards[0].candidate
	if s.tb.kind != indexError || c.node == nil {
		return 0
	}
	_, length, _ := s.script.demand(c)
	return length
}

// longEnough reports whether a condition around c already requires that length, so
// that c is not evaluated on the data that failed.
func (s *script) longEnough(c candidate, length int) bool {
	base, _, _ := s.demand(c)
	text := s.text(base)
	return s.facts(c, func(cond *node, truth bool) bool {
		return splitFact(cond, truth, func(n *node, truth bool) bool { return s.knownLength(n, truth, text) >= length })
	})
}

// operandText returns the source of the element that c reads, or of the divisor of
// c. Operations of equal text fail together. root is the variable that the text
// begins with.
func (s *script) operandText(c candidate) (text, root string) {
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

// defIndex returns the position of def among the defs of the source, which edits
// don't change; -1 for the module.
func (s *script) defIndex(def *stmt) int {
	n := -1
	for _, st := range s.all[:slices.Index(s.all, def)+1] {
		if st.keyword == "def" {
			n++
		}
	}
	return n
}

// growing lists the methods that add elements to a list, a set or a dict.
var growing = map[string]bool{
	"append": true, "extend": true, "insert": true, "appendleft": true, "add": true, "update": true, "setdefault": true,
}

// reaches reports whether b is in the block of st or in a block around it.
func reaches(b, st *stmt) bool {
	for ; st != nil; st = st.parent {
		if st.siblings == b.siblings {
			return true
		}
	}
	return false
}

// reassigned reports whether root is assigned or gets an element added between a
// line and st.
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
