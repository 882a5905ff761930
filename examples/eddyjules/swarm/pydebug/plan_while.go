package pydebug

import (
	"fmt"
	"slices"
)

// whileFix ends a while loop or skips one iteration of it. It returns nil if the
// loop might then run for ever, or end before its work is done.
func (s *script) whileFix(h *hazard, loop *stmt) *fix {
	h = s.extendRecord(h)
	if loop.value.has(func(n *node) bool { return n.kind == nodeBool && n.op == "or" }) {
		return nil // one part of the condition may still require iterations
	}
	if !s.assignedInLoop(h, loop) {
		return &fix{
			shape:      h.shape,
			edits:      []edit{s.insertBefore(h.stmt, "if "+h.unsafe+":", "\tbreak")},
			change:     fmt.Sprintf("The loop now ends when %s.", h.cause),
			effect:     "Until then it does exactly what it did; what follows the loop still runs.",
			confidence: 0.82,
		}
	}
	steps, ok := s.skippedSteps(h.stmt, loop)
	if !ok {
		return nil
	}
	lines := []string{"if " + h.unsafe + ":"}
	for _, step := range steps {
		lines = append(lines, "\t"+s.src[step.start:step.end])
	}
	return &fix{
		shape:      h.shape,
		edits:      []edit{s.insertBefore(h.stmt, append(lines, "\tcontinue")...)},
		change:     fmt.Sprintf("The loop now skips the turn in which %s.", h.cause),
		effect:     "The loop still moves on in that turn; all others do exactly what they did.",
		confidence: 0.82,
	}
}

// assignedInLoop reports whether the loop assigns a variable of the guarded
// expression, so that the next iteration may be safe.
func (s *script) assignedInLoop(h *hazard, loop *stmt) bool {
	return h.node != nil && h.node.has(func(n *node) bool {
		if !n.is(nodeName) {
			return false
		}
		for _, b := range s.bindings[n.op] {
			if b.op == "=" && b != h.stmt && within(b, loop) {
				return true
			}
		}
		return false
	})
}

// skippedSteps returns the statements after st that advance the loop, such as
// i += 1, which a continue at st must repeat. ok is false if the loop might not
// end with such a continue.
func (s *script) skippedSteps(st, loop *stmt) (steps []*stmt, ok bool) {
	top := st
	for top.parent != loop {
		if top.parent == nil {
			return nil, false
		}
		top = top.parent
	}
	earlier := loop.body[:top.index]
	for _, next := range top.after() {
		if len(next.names) == 0 {
			continue
		}
		name := next.names[0]
		read := func(n *node) bool { return n.is(nodeName) && n.op == name }
		if !readBy(loop, earlier, read) || boundBy(earlier, name) {
			continue
		}
		plain := (next.op == "+=" || next.op == "-=" || next.op == "=") && next.alone && next.endLine == next.line && repeatableStep(next)
		if !plain {
			return nil, false
		}
		steps = append(steps, next)
	}
	return steps, len(steps) > 0 || s.consumesInput(loop, earlier)
}

// repeatableStep reports whether a statement that advances a loop may be copied
// in front of a continue.
func repeatableStep(st *stmt) bool {
	return repeatable(st.value) || isMethod(st.value, "readline") || isCallTo(st.value, "next") || isCallTo(st.value, "input")
}

// readBy reports whether the loop's condition, or one of the earlier statements of
// its body, has a node that satisfies read.
func readBy(loop *stmt, earlier []*stmt, read func(*node) bool) bool {
	return loop.value.has(read) || slices.ContainsFunc(earlier, func(st *stmt) bool { return st.hasDeep(read) })
}

func boundBy(block []*stmt, name string) bool {
	return slices.ContainsFunc(block, func(st *stmt) bool { return st.bindsDeep(name) })
}

// consumesInput reports whether the loop's condition, or one of the earlier
// statements of its body, consumes an input or advances a counter in each
// iteration.
func (s *script) consumesInput(loop *stmt, earlier []*stmt) bool {
	takes := func(n *node) bool {
		return isMethod(n, "readline") || isCallTo(n, "next") || isCallTo(n, "input") || isMethod(n, "pop") ||
			isMethod(n, "popleft") || isMethod(n, "get") || isMethod(n, "read") || isMethod(n, "recv")
	}
	return loop.value.has(func(n *node) bool { return n.is(nodeWalrus) }) ||
		slices.ContainsFunc(earlier, func(st *stmt) bool { return st.has(takes) || st.op == "+=" || st.op == "-=" })
}
