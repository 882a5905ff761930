package pydebug

import (
	"fmt"
	"strings"
)

// indexFix returns a fix for an IndexError, or nil and the reason.
func (s *script) indexFix(h *hazard, at *site) (*fix, string) {
	rewrites := []func(*hazard) *fix{s.missingArgument, s.strongerGuard, s.shrinkingList, s.pastTheEnd, s.countdown, s.appendInstead, s.loopBound}
	for _, rewrite := range rewrites {
		if f := rewrite(h); f != nil {
			return f, ""
		}
	}
	return s.guardFix(h, at)
}

// missingArgument ends the script with a message that names the missing
// command-line argument.
func (s *script) missingArgument(h *hazard) *fix {
	if h.shape != "missing-argument" || !h.stmt.startsLine || h.stmt.keyword == "elif" || h.stmt.keyword == "while" {
		return nil
	}
	h = s.extendRecord(h)
	_, length, _ := s.demand(h.candidate)
	if length < 2 {
		return nil
	}
	names := make([]string, 0, length-1)
	for k := 1; k < min(length, 10); k++ {
		names = append(names, s.argumentName(k))
	}
	leave := "sys.exit"
	if strings.HasPrefix(h.unsafe, "len(argv)") {
		leave = "raise SystemExit"
	}
	usage := fmt.Sprintf("%s(%s)", leave, s.quoted("missing argument: "+strings.Join(names, " ")))
	return &fix{
		shape:      h.shape,
		edits:      []edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\t"+usage)},
		change:     "The script now says which argument it wants and ends, when it is started without it.",
		effect:     "Started with its arguments it does what it did; without them it ends with exit code 1 and a line that says so, since there is nothing sensible to go on with.",
		confidence: 0.9,
		exit:       1,
	}
}

// argumentName returns a name for sys.argv[k]: that of the variable to which the
// script assigns it, else ARGk.
func (s *script) argumentName(k int) string {
	for _, b := range s.all {
		if b.op != "=" || len(b.names) != 1 || b.value == nil {
			continue
		}
		if b.value.has(func(n *node) bool {
			return s.constantIndex(candidate{node: n}) == k && strings.HasSuffix(s.text(n.kids[0]), "argv")
		}) {
			return strings.ToUpper(b.names[0])
		}
	}
	return fmt.Sprintf("ARG%d", k)
}

// shrinkingList reverses a loop that removes elements of the list which it indexes.
func (s *script) shrinkingList(h *hazard) *fix {
	if !s.shrinksInLoop(h.candidate) {
		return nil
	}
	_, _, index := s.demand(h.candidate)
	b := s.boundOf(index, h.stmt)
	if b.start != nil || !isCallTo(b.call, "range") {
		return nil
	}
	limit := s.text(b.limit)
	if b.last >= 0 {
		l := s.linear(b.limit)
		limit = plus(l.core, l.offset-b.last-1)
	}
	return &fix{
		shape:      "list-shrinks-in-loop",
		final:      true,
		edits:      []edit{replace(b.call, "reversed(range("+limit+"))")},
		change:     fmt.Sprintf("The loop now goes through `%s` from its end to its beginning, so that removing an element doesn't move those still to come.", s.text(b.base)),
		effect:     "Every element is now looked at exactly once. Counting upwards, the loop also skipped the element after each removed one.",
		confidence: 0.85,
	}
}

// pastTheEnd repairs x[len(x)].
func (s *script) pastTheEnd(h *hazard) *fix {
	base, _, index := s.demand(h.candidate)
	if index == nil || !h.node.is(nodeSubscript) {
		return nil
	}
	lengthOf, offset, ok := s.length(index, h.stmt)
	if !ok || offset != 0 || s.text(lengthOf) != s.text(base) {
		return nil
	}
	text := "-1"
	if !isCallTo(index.unparen(), "len") {
		text = plus(s.text(index), -1)
	}
	if index.is(nodeName) && len(s.bindings[index.op]) > 1 {
		return s.startAtLast(h, index.op)
	}
	if value := s.resolve(base, h.stmt); value.is(nodeList) && len(value.kids) == 0 && !s.grows(base) {
		return nil
	}
	return &fix{
		shape:      "index-equals-length",
		final:      true,
		edits:      []edit{replace(index, text)},
		change:     fmt.Sprintf("The index is now that of the last element of `%s`.", s.text(base)),
		effect:     "Counting begins at 0, so the last element has the index len - 1; this line could never have worked before.",
		confidence: 0.85,
	}
}

// startAtLast repairs a while loop that counts down from the length.
func (s *script) startAtLast(h *hazard, name string) *fix {
	down := false
	var start *stmt
	for _, b := range s.bindings[name] {
		switch {
		case b.function() != h.stmt.function():
		case b.op == "-=":
			down = true
		case b.op == "=" && start == nil:
			start = b
		default:
			return nil
		}
	}
	if start == nil || !down || start.value == nil {
		return nil
	}
	l := s.linear(start.value)
	return &fix{
		shape:      "countdown-off-by-one",
		final:      true,
		edits:      []edit{replace(start.value, plus(l.core, l.offset-1))},
		change:     fmt.Sprintf("`%s` now begins at the last index.", name),
		effect:     "Counting begins at 0, so the last element has the index len - 1; the loop visits the elements that it was meant to.",
		confidence: 0.82,
	}
}

func (s *script) grows(base *node) bool { return base.is(nodeName) && s.mutated(base.op) }

// countdown repairs range(len(x), 0, -1), whose first index is past the end.
func (s *script) countdown(h *hazard) *fix {
	base, _, index := s.demand(h.candidate)
	loop := h.stmt.loop()
	if index == nil || !index.is(nodeName) || loop == nil || !loop.binds(index.op) || !isCallTo(loop.value, "range") || len(loop.value.kids) != 4 {
		return nil
	}
	args := loop.value.kids
	of, offset, ok := s.length(args[1], loop)
	stop, stopOk := s.integer(args[2])
	step, stepOk := s.integer(args[3])
	if !ok || offset != 0 || s.text(of) != s.text(base) || !stopOk || !stepOk || step != -1 || stop > 0 {
		return nil
	}
	l := s.linear(args[1])
	return &fix{
		shape:      "countdown-off-by-one",
		final:      true,
		edits:      []edit{replace(args[1], plus(l.core, l.offset-1)), replace(args[2], "-1")},
		change:     "The loop now counts from the last index down to 0.",
		effect:     "It visits every element once, the first one included.",
		confidence: 0.85,
	}
}

// appendInstead repairs a loop that fills an empty list by index.
func (s *script) appendInstead(h *hazard) *fix {
	st := h.stmt
	if st.op != "=" || len(st.targets) != 1 || st.targets[0] != h.node || st.value == nil || !st.alone {
		return nil
	}
	base, index := h.node.kids[0], h.node.kids[1]
	value := s.resolve(base, st)
	loop := st.loop()
	if !value.is(nodeList) || len(value.kids) > 0 || loop == nil || st.parent != loop || !s.countsFromZero(loop, index) || s.growsIn(loop, base) {
		return nil
	}
	text := s.text(base) + ".append("
	closing := ")"
	if st.value.is(nodeTuple) && st.value.op == "" {
		text, closing = text+"(", "))"
	}
	return &fix{
		shape:      "assign-past-end",
		final:      true,
		edits:      []edit{{st.start, st.value.start, text}, {st.value.end, st.value.end, closing}},
		change:     fmt.Sprintf("The values are now appended to `%s`, which is empty at first.", s.text(base)),
		effect:     "A list doesn't grow by an assignment to an index that it doesn't have. The values end up in the order in which they were meant to be stored.",
		confidence: 0.85,
	}
}

// growsIn reports whether the loop appends to base.
func (s *script) growsIn(loop *stmt, base *node) bool {
	return loop.hasDeep(func(n *node) bool {
		return isMethod(n, "append") && s.text(n.kids[0].kids[0]) == s.text(base)
	})
}

// countsFromZero reports whether index is the variable of a loop that counts from
// zero in steps of one.
func (s *script) countsFromZero(loop *stmt, index *node) bool {
	if loop.keyword != "for" || !index.is(nodeName) || len(loop.targets) == 0 {
		return false
	}
	target := loop.targets[0]
	switch {
	case isCallTo(loop.value, "enumerate") && len(loop.value.kids) == 2:
		return target.is(nodeTuple) && target.kids[0].op == index.op
	case isCallTo(loop.value, "range") && len(loop.value.kids) == 2:
		return target.is(nodeName) && target.op == index.op
	}
	return false
}
