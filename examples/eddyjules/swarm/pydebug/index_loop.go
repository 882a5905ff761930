package pydebug

import (
	"fmt"
	"slices"
	"strings"
)

// loopBound repairs a loop whose bound exceeds the length of the indexed list.
func (s *script) loopBound(h *hazard) *fix {
	base, _, index := s.demand(h.candidate)
	if index == nil || !h.node.is(nodeSubscript) {
		return nil
	}
	b := s.boundOf(index, h.stmt)
	switch {
	case b == nil:
		return nil
	case b.base != nil && s.text(b.base) == s.text(base):
		return s.offByOne(h, b)
	}
	return s.otherLength(h, b, base)
}

// maxExcess is the largest number of iterations that offByOne removes. A larger
// excess is hardly a mistake in the bound.
const maxExcess = 8

// offByOne repairs a loop over the length of the list that it indexes.
func (s *script) offByOne(h *hazard, b *bound) *fix {
	excess := b.last + 1
	if excess <= 0 || excess > maxExcess {
		return nil
	}
	if f := s.countingFromOne(h, b); f != nil {
		return f
	}
	if b.shift > 0 && b.loop != nil && s.keepsLastTurn(h, b.loop) {
		return s.shortenedTurn(h, b)
	}
	if b.loop == h.stmt && b.shift > 0 {
		return nil // the condition itself reads ahead: a guard in front of it
	}
	return &fix{
		shape:      loopShape(b),
		final:      true,
		edits:      []edit{s.lower(b, excess)},
		change:     fmt.Sprintf("The loop now ends early enough for `%s`.", s.text(h.node)),
		effect:     fmt.Sprintf("The indices of `%s` end at len - 1; the turn of the loop that went beyond is gone, and all the others do what they did.", s.text(b.base)),
		confidence: 0.9,
	}
}

func loopShape(b *bound) string {
	switch {
	case b.call == nil:
		return "while-bound-off-by-one"
	case b.shift > 0:
		return "loop-reads-ahead"
	}
	return "range-too-long"
}

// countingFromOne repairs range(1, len(x) + 1) with x[i]: the number of iterations
// is right, and the index is one too high in each.
func (s *script) countingFromOne(h *hazard, b *bound) *fix {
	if b.start == nil || b.shift != 0 || b.last != 0 || b.loop == nil {
		return nil
	}
	if k, ok := s.integer(b.start); !ok || k != 1 {
		return nil
	}
	edits, clean := s.shiftedReads(b, s.text(h.node.kids[0]))
	if !clean {
		return nil
	}
	return &fix{
		shape:      "counting-from-one",
		final:      true,
		edits:      edits,
		change:     fmt.Sprintf("The loop counts from 1 to the length, so the element of each turn is `%s[%s - 1]`.", s.text(h.node.kids[0]), b.name),
		effect:     "Each number now goes with its own element. Before, the first element was never used and each turn read the one after.",
		confidence: 0.75,
	}
}

// shiftedReads returns the edits that lower every base[name] in the loop by one.
// clean is false if the loop also reads base with another index.
func (s *script) shiftedReads(b *bound, base string) (edits []edit, clean bool) {
	clean = true
	for _, st := range b.loop.body {
		st.hasDeep(func(n *node) bool {
			if !n.is(nodeSubscript) || s.text(n.kids[0]) != base {
				return false
			}
			if s.text(n.kids[1]) != b.name {
				clean = false
				return true
			}
			edits = append(edits, replace(n.kids[1], b.name+" - 1"))
			return false
		})
	}
	return edits, clean
}

// keepsLastTurn reports whether the last iteration does work besides reading ahead,
// which a shorter loop would lose.
func (s *script) keepsLastTurn(h *hazard, loop *stmt) bool {
	top := h.stmt
	for top.parent != nil && top.parent != loop {
		top = top.parent
	}
	if top.parent != loop {
		return false
	}
	for _, st := range loop.body[:top.index] {
		if st.op != "=" || len(st.names) == 0 {
			return true
		}
	}
	alone := len(loop.body) == top.index+1
	return h.stmt == top && top.keyword == "if" && !alone && !s.readElsewhere(h, loop) && loop.keyword == "for"
}

// readElsewhere reports whether the loop reads the same element outside of the
// failed statement.
func (s *script) readElsewhere(h *hazard, loop *stmt) bool {
	text := s.text(h.node)
	return slices.ContainsFunc(loop.body, func(st *stmt) bool {
		return st != h.stmt && st.hasDeep(func(n *node) bool { return n.is(nodeSubscript) && s.text(n) == text })
	})
}

// shortenedTurn ends the last iteration in front of the statement that reads ahead.
func (s *script) shortenedTurn(h *hazard, b *bound) *fix {
	h.shape = loopShape(b)
	if h.stmt.keyword == "if" && !s.readElsewhere(h, b.loop) {
		return s.andFix(h)
	}
	if !h.stmt.startsLine || h.stmt.keyword == "elif" {
		return nil
	}
	word := "continue"
	if b.loop.keyword == "while" {
		word = "break"
	}
	return &fix{
		shape:      h.shape,
		edits:      []edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\t"+word)},
		change:     fmt.Sprintf("The last turn of the loop now stops before `%s`, which doesn't exist there.", s.text(h.node)),
		effect:     "What the last turn does before that line still happens, and all other turns are unchanged.",
		confidence: 0.85,
	}
}

// otherLength repairs a loop over the length of another sequence than the one that
// it indexes.
func (s *script) otherLength(h *hazard, b *bound, base *node) *fix {
	if b.loop == nil || b.call == nil || !isCallTo(b.call, "range") || !s.knownBefore(base, b.loop) {
		return nil
	}
	length := plus("len("+s.text(base)+")", -b.shift)
	root := rootName(base)
	f := &fix{
		shape:      "range-of-another-length",
		final:      true,
		change:     fmt.Sprintf("The loop now also ends where `%s` ends.", s.text(base)),
		effect:     fmt.Sprintf("It counted further than `%s` is long. As long as there is an element for every turn, nothing changes.", s.text(base)),
		confidence: 0.8,
	}
	if b.base != nil && b.last-b.shift == -1 && root != "" && root == rootName(b.base) && base.is(nodeSubscript) {
		f.shape = "wrong-dimension"
		f.change = fmt.Sprintf("The loop now counts through `%s` itself, instead of `%s`.", s.text(base), s.text(b.base))
		f.effect = "Each row is now read by its own length, so rows may differ. Where they don't, nothing changes."
		f.edits = []edit{replace(b.limit, length)}
		return f
	}
	f.edits = []edit{replace(b.limit, "min("+s.text(b.limit)+", "+length+")")}
	return f
}

// knownBefore reports whether n can be evaluated in front of the loop: the loop
// assigns no variable of n.
func (s *script) knownBefore(n *node, loop *stmt) bool {
	return repeatable(n) && !n.has(func(m *node) bool { return m.is(nodeName) && loop.bindsDeep(m.op) })
}

// rootName returns the variable at the beginning of a chain of subscripts and
// attributes; empty if there is none.
func rootName(n *node) string {
	for n.is(nodeSubscript) || n.is(nodeAttr) || n.is(nodeParen) {
		n = n.kids[0]
	}
	if n.is(nodeName) {
		return n.op
	}
	return ""
}

// quoted returns text as a Python string with the quotes that the script uses most.
func (s *script) quoted(text string) string {
	quote := `"`
	if strings.Count(s.src, "'") > strings.Count(s.src, `"`) {
		quote = "'"
	}
	return quote + text + quote
}
