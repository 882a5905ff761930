package pydebug

import "fmt"

// maxWrapped is the largest number of statements, besides the failing one, that
// move under an if.
const maxWrapped = 12

// wrapFix puts a statement of the module under an if, together with the following
// statements that depend on it.
func (s *script) wrapFix(h *hazard) *fix {
	h = s.extendRecord(h)
	last, ok := s.dependents(h)
	if !ok || !h.stmt.startsLine || !last.alone && len(last.body) == 0 {
		return nil
	}
	edits := append([]edit{s.insertBefore(h.stmt, "if "+h.safe+":")}, s.indentLines(h.stmt.line, lastLine(last))...)
	return &fix{
		shape:      h.shape,
		edits:      edits,
		change:     fmt.Sprintf("Line %d and what depends on it now run only if `%s`.", h.stmt.line, h.safe),
		effect:     fmt.Sprintf("When %s, there is nothing to do here and the script goes on behind it.", h.cause),
		confidence: 0.8,
	}
}

// dependents returns the last statement of the block that uses a name which the
// statement of h assigns. ok is false if a statement outside of the block uses
// one too, or if there are more than maxWrapped statements in between.
func (s *script) dependents(h *hazard) (last *stmt, ok bool) {
	names := map[string]bool{}
	st := h.stmt
	last = st
	again := func(n *node) bool { return h.node != nil && n.kind == h.node.kind && s.text(n) == s.text(h.node) }
	collect := func(b *stmt) bool {
		for _, name := range b.names {
			names[name] = true
		}
		return true
	}
	st.walk(collect)
	uses := func(n *node) bool { return n.is(nodeName) && names[n.op] }
	for _, next := range st.after() {
		if next.keyword == "elif" || next.keyword == "else" || next.keyword == "except" || next.keyword == "finally" {
			last = next
			continue
		}
		adjacent := next.index == last.index+1
		if next.hasDeep(uses) || adjacent && next.hasDeep(again) {
			s.takeBetween(last, next, collect)
			last = next
		}
	}
	if last.keyword == "def" || last.keyword == "class" || len(names) > 0 && s.usedOutside(st, last, uses) {
		return nil, false
	}
	return last, last.index-st.index <= maxWrapped
}

// takeBetween calls collect for the statements after last, up to and including next.
func (s *script) takeBetween(last, next *stmt, collect func(*stmt) bool) {
	for _, b := range (*last.siblings)[last.index+1 : next.index+1] {
		b.walk(collect)
	}
}

// usedOutside reports whether a statement outside of first to last uses one of
// the names. Statements of the same function in front of first don't count.
func (s *script) usedOutside(first, last *stmt, uses func(*node) bool) bool {
	for _, b := range s.all {
		inside := b.start >= first.start && b.start <= last.start || within(b, last)
		early := b.start < first.start && b.function() == first.function()
		if !inside && !early && b.has(uses) {
			return true
		}
	}
	return false
}

// within reports whether b is a or in its body.
func within(b, a *stmt) bool {
	for ; b != nil; b = b.parent {
		if b == a {
			return true
		}
	}
	return false
}
